//! A slab whose keys are never reused: each carries the generation of its slot.

use core::marker::PhantomData;

use slab::Slab;

/// A typed key into an [`Arena`].
pub(crate) trait Key: Copy {
    fn new(index: u32, generation: u32) -> Self;
    fn parts(self) -> (u32, u32);
}

/// Values under keys that stay dead once their value is gone.
#[derive(Clone, Debug)]
pub(crate) struct Arena<K, V> {
    slots: Slab<(u32, V)>,
    /// Counts insertions; as a generation it differs between two users of a slot
    /// until it has wrapped around in between.
    inserted: u32,
    key: PhantomData<fn() -> K>,
}

impl<K: Key, V> Arena<K, V> {
    pub(crate) const fn new() -> Self {
        Self { slots: Slab::new(), inserted: 0, key: PhantomData }
    }

    pub(crate) fn insert(&mut self, value: V) -> K {
        self.insert_with(|_| value)
    }

    /// Inserts a value that knows its own key.
    pub(crate) fn insert_with(&mut self, value: impl FnOnce(K) -> V) -> K {
        let generation = self.inserted;
        self.inserted = self.inserted.wrapping_add(1);
        let slot = self.slots.vacant_entry();
        let index = u32::try_from(slot.key()).expect("fewer than 2^32 values live at once");
        let key = K::new(index, generation);
        slot.insert((generation, value(key)));
        key
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        let (index, generation) = key.parts();
        match self.slots.get(index as usize) {
            Some((slot, value)) if *slot == generation => Some(value),
            Some(_) | None => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let (index, generation) = key.parts();
        match self.slots.get_mut(index as usize) {
            Some((slot, value)) if *slot == generation => Some(value),
            Some(_) | None => None,
        }
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        self.get(key)?;
        Some(self.slots.remove(key.parts().0 as usize).1)
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.slots.iter().map(|(index, (generation, value))| {
            (K::new(u32::try_from(index).unwrap_or(u32::MAX), *generation), value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WaiterKey;

    #[test]
    fn a_key_is_dead_once_its_value_is_gone_though_the_slot_is_used_again() {
        let mut arena = Arena::<WaiterKey, &str>::new();
        let first = arena.insert("first");
        assert_eq!(arena.remove(first), Some("first"));
        let second = arena.insert("second");
        assert_eq!(first.parts().0, second.parts().0, "the slot is reused");
        assert_eq!(arena.get(first), None);
        assert_eq!(arena.remove(first), None);
        assert_eq!(arena.get(second), Some(&"second"));
    }
}
