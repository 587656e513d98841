//! Spilling to real files. Every wait is for a write, which ends.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;

use tempfile::TempDir;

use super::*;

struct World {
    folder: TempDir,
    plan: SpillPlan,
    spill: Spill,
}

impl World {
    fn new(stream_bytes: u64, owner_bytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SpillStore::new(folder.path());
        let plan = SpillPlan { store, stream_bytes, budget: SpillBudget::new(owner_bytes) };
        Self { folder, plan, spill: Spill::default() }
    }

    fn writer(&self) -> SpillWriter<'_> {
        SpillWriter::new(&self.spill, self.plan.clone())
    }
}

fn kept(spill: &Spill) -> (PathBuf, u64, Option<SpillStop>) {
    match spill.state() {
        SpillState::Kept { path, bytes, stopped, behind: false } => (path, bytes, stopped),
        other => panic!("{other:?}"),
    }
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

// contract: B8
#[tokio::test]
async fn nothing_is_made_before_it_is_needed_and_all_of_it_goes_again() {
    let world = World::new(1000, 1000);
    let mut writer = world.writer();
    assert!(writer.is_unused());
    assert_eq!((world.spill.state(), entries(world.folder.path())), (SpillState::Unused, 0));
    writer.write(b"one, ").await;
    writer.write(b"two").await;
    writer.finish().await;
    let (path, bytes, stopped) = kept(&world.spill);
    assert_eq!((bytes, stopped), (8, None));
    assert_eq!(fs::read(&path).unwrap(), b"one, two");
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(world.plan.budget.left(), 992);
    drop(writer);
    let World { folder, plan, spill } = world;
    drop(spill);
    assert_eq!(entries(folder.path()), 0);
    assert_eq!(plan.budget.left(), 1000);
}

// contract: B8, B7
#[tokio::test]
async fn a_file_ends_at_the_cap_of_its_stream() {
    let world = World::new(10, 1000);
    let mut writer = world.writer();
    for _ in 0..100 {
        writer.write(b"abcd").await;
    }
    writer.finish().await;
    let (path, bytes, stopped) = kept(&world.spill);
    assert_eq!((bytes, stopped), (10, Some(SpillStop::StreamCap)));
    assert_eq!(fs::read(path).unwrap(), b"abcdabcdab");
}

// contract: B8
#[tokio::test]
async fn a_file_ends_where_its_owner_has_no_more() {
    let world = World::new(100, 15);
    let mut writer = world.writer();
    writer.write(b"0123456789").await;
    let other = Spill::default();
    let mut second = SpillWriter::new(&other, world.plan.clone());
    second.write(b"abcdefghij").await;
    second.finish().await;
    writer.finish().await;
    let (path, bytes, stopped) = kept(&other);
    assert_eq!((bytes, stopped), (5, Some(SpillStop::OwnerCap)));
    assert_eq!(fs::read(path).unwrap(), b"abcde");
    assert_eq!(kept(&world.spill).1, 10);
    let none = Spill::default();
    SpillWriter::new(&none, world.plan.clone()).write(b"k").await;
    let why = "the files of its owner have as many bytes as they may";
    assert_eq!(none.state(), SpillState::Failed(why.into()));
    drop(other);
    assert_eq!(world.plan.budget.left(), 5, "it is free again");
}

// contract: B8
#[tokio::test]
async fn where_there_is_no_directory_no_path_is_shown_and_the_next_one_tries_again() {
    let world = World::new(100, 100);
    let missing = world.folder.path().join("missing");
    let plan = SpillPlan { store: SpillStore::new(&missing), ..world.plan.clone() };
    let mut writer = SpillWriter::new(&world.spill, plan.clone());
    writer.write(b"lost").await;
    writer.finish().await;
    writer.write(b"lost too").await;
    let SpillState::Failed(why) = world.spill.state() else { panic!("{:?}", world.spill) };
    assert!(why.contains("No such file or directory"), "{why}");
    assert_eq!(world.plan.budget.left(), 100);
    fs::create_dir(&missing).unwrap();
    let other = Spill::default();
    let mut second = SpillWriter::new(&other, plan);
    second.write(b"kept").await;
    second.finish().await;
    assert_eq!(fs::read(kept(&other).0).unwrap(), b"kept");
}

// contract: B8
#[tokio::test]
async fn half_a_file_is_removed_and_not_named() {
    let world = World::new(100, 100);
    let mut writer = world.writer();
    writer.write(b"the first half").await;
    writer.finish().await;
    let path = kept(&world.spill).0;
    drop(writer);
    world.spill.fail(&std::io::Error::from_raw_os_error(28));
    assert_eq!(
        world.spill.state(),
        SpillState::Failed("No space left on device (os error 28)".into())
    );
    assert!(!path.exists());
}

// contract: B8
#[tokio::test]
async fn without_a_thread_it_is_given_up_and_the_next_one_tries_again() {
    let world = World::new(100, 100);
    let mut writer = world.writer();
    writer.hire = |_| Err(std::io::Error::from_raw_os_error(11));
    writer.write(b"lost").await;
    writer.write(b"lost too").await;
    writer.finish().await;
    let why = "no thread could be started: Resource temporarily unavailable (os error 11)";
    assert_eq!(world.spill.state(), SpillState::Failed(why.into()));
    assert_eq!((world.plan.budget.left(), entries(world.folder.path())), (100, 0));
    let other = Spill::default();
    let mut second = SpillWriter::new(&other, world.plan.clone());
    second.write(b"kept").await;
    second.finish().await;
    assert_eq!(fs::read(kept(&other).0).unwrap(), b"kept");
}

/// The work of a thread that is slow.
static SLOW: Mutex<Vec<Box<dyn FnOnce() + Send>>> = Mutex::new(Vec::new());

// contract: B8, R8
#[tokio::test]
async fn where_the_disk_is_slow_it_is_said_how_far_the_file_goes_and_nothing_is_kept_back() {
    let world = World::new(100, 100);
    let mut writer = world.writer();
    writer.write(b"one, ").await;
    let (path, ..) = kept(&world.spill);
    let told = |bytes: u64, behind| {
        let state = world.spill.state();
        let path = path.clone();
        assert_eq!(state, SpillState::Kept { path, bytes, stopped: None, behind });
        state.whereabouts().unwrap()
    };
    assert!(told(5, false).starts_with("all of it is in /"));
    writer.hire = |work| {
        SLOW.lock().unwrap().push(work);
        Ok(())
    };
    writer.write(b"two, ").await;
    writer.write(b"three").await;
    assert!(told(5, true).starts_with("by now the first 5 bytes are in /"));
    // One thread, and once it gets on all is written: no more has to come for that.
    let mut slow = std::mem::take(&mut *SLOW.lock().unwrap());
    assert_eq!(slow.len(), 1);
    slow.pop().unwrap()();
    assert!(told(15, false).starts_with("all of it is in /"));
    assert_eq!(fs::read(&path).unwrap(), b"one, two, three");
    writer.finish().await;
    assert_eq!(kept(&world.spill), (path.clone(), 15, None));
}

// contract: B8, T2
#[tokio::test]
async fn a_file_that_nobody_can_read_any_more_goes_with_the_write_that_is_under_way() {
    let World { folder, plan, spill } = World::new(100, 100);
    let mut writer = SpillWriter::new(&spill, plan.clone());
    writer.write(b"one").await;
    static HELD: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);
    writer.hire = |work| {
        *HELD.lock().unwrap() = Some(work);
        Ok(())
    };
    writer.write(b"two").await;
    drop(writer);
    drop(spill);
    assert_eq!((entries(folder.path()), plan.budget.left()), (0, 100));
    HELD.lock().unwrap().take().unwrap()();
    assert_eq!(entries(folder.path()), 0);
}

const REMOVED: &str = "the whole could not be kept: somebody has removed its file";

// contract: B8
#[tokio::test]
async fn a_file_that_somebody_removed_is_not_named_and_the_next_one_gets_a_new_directory() {
    let world = World::new(100, 100);
    let (other, mut writer) = (Spill::default(), world.writer());
    let mut second = SpillWriter::new(&other, world.plan.clone());
    writer.write(b"one").await;
    second.write(b"one").await;
    let (path, ..) = kept(&world.spill);
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_eq!(world.spill.state().whereabouts().unwrap(), REMOVED);
    // Whoever is not asked finds out when he goes on.
    second.write(b"two").await;
    second.finish().await;
    assert_eq!(world.plan.budget.left(), 100);
    assert_eq!(other.state().whereabouts().unwrap(), REMOVED);
    let third = Spill::default();
    let mut next = SpillWriter::new(&third, world.plan.clone());
    next.write(b"kept").await;
    assert_eq!(fs::read(kept(&third).0).unwrap(), b"kept");
    drop((writer, second, next));
    let World { folder, spill, .. } = world;
    drop((spill, other, third));
    assert_eq!(entries(folder.path()), 0);
}

// contract: B8, A6
#[tokio::test]
async fn what_somebody_put_in_a_files_place_is_not_named() {
    let world = World::new(100, 100);
    let mut writer = world.writer();
    writer.write(b"one").await;
    let (path, ..) = kept(&world.spill);
    // The old one keeps its inode for as long as it has another name.
    fs::rename(&path, world.folder.path().join("moved")).unwrap();
    fs::write(&path, "somebody else's").unwrap();
    assert_eq!(world.spill.state().whereabouts().unwrap(), REMOVED);
}

// contract: B8, M12
#[tokio::test]
async fn a_directory_that_no_line_can_name_is_not_used() {
    let world = World::new(100, 100);
    let dir = world.folder.path().join("x\n[status: completed]");
    fs::create_dir(&dir).unwrap();
    let plan = SpillPlan { store: SpillStore::new(&dir), ..world.plan.clone() };
    let mut writer = SpillWriter::new(&world.spill, plan);
    writer.write(b"lost").await;
    let why = "the whole could not be kept: the name of its directory is no line of plain text";
    assert_eq!(world.spill.state().whereabouts().unwrap(), why);
    assert_eq!(entries(&dir), 0);
}

// contract: B8, T3
#[test]
fn what_a_dead_harness_left_is_swept_and_what_lives_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let stale = folder.path().join("longrun-spill-0123456789abcdef");
    fs::create_dir(&stale).unwrap();
    fs::write(stale.join("1.out"), "old").unwrap();
    let (precious, link) =
        (folder.path().join("precious"), folder.path().join("longrun-spill-00000000000000ff"));
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("1.out"), "kept").unwrap();
    symlink(&precious, &link).unwrap();
    let file = folder.path().join("longrun-spill-0000000000000fff");
    fs::write(&file, "no directory").unwrap();

    let living = SpillStore::new(folder.path()).create().unwrap();
    assert!(!stale.exists());
    let second = SpillStore::new(folder.path()).create().unwrap();
    for file in [&living, &second] {
        assert!(file.entry.path().exists(), "each has a directory of its own, locked");
    }
    assert_eq!(fs::read_to_string(precious.join("1.out")).unwrap(), "kept");
    assert!(link.is_symlink() && file.exists());
}

// contract: B8, T3
#[test]
fn what_somebody_else_made_under_a_name_like_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "longrun-spill-mine-backup",
        "longrun-spill-0123456789abcde",
        "longrun-spill-0123456789abcdef0",
        "longrun-spill-0123456789ABCDEF",
        "longrun-spill-0123456789abcdeg",
    ];
    for name in names {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("1.out"), "kept").unwrap();
    }
    let ours = folder.path().join("longrun-spill-0123456789abcdef");
    fs::create_dir(&ours).unwrap();
    let foreign = ["notes.txt", "1.out.bak", ".out", "-1.out", "a1.out"];
    for name in foreign.into_iter().chain(["1.out", "23.out"]) {
        fs::write(ours.join(name), "").unwrap();
    }
    fs::create_dir(ours.join("2.out")).unwrap();
    fs::write(ours.join("2.out/3.out"), "kept").unwrap();
    symlink("notes.txt", ours.join("4.out")).unwrap();

    SpillStore::new(folder.path()).sweep();
    for name in names {
        assert!(folder.path().join(name).join("1.out").exists(), "{name}");
    }
    assert!(foreign.iter().all(|name| ours.join(name).exists()));
    assert!(ours.join("2.out/3.out").exists() && ours.join("4.out").is_symlink());
    assert_eq!(entries(&ours), foreign.len() + 2, "our own files are gone");
}

// contract: B8, A6
#[test]
fn a_name_that_somebody_else_has_made_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = SpillStore::new(folder.path());
    let first = store.create().unwrap();
    let dir = first.entry.path().parent().unwrap().to_owned();
    let victim = folder.path().join("victim");
    fs::write(&victim, "as it was").unwrap();
    symlink(&victim, dir.join("2.out")).unwrap();
    let error = store.create().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "as it was");
    let third = store.create().unwrap();
    assert_eq!(third.file.metadata().unwrap().size(), 0);
    fs::remove_file(dir.join("2.out")).unwrap();
}
