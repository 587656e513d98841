//! What a process writes.

use super::*;

// contract: B6
#[tokio::test]
async fn an_escapee_that_holds_the_pipe_delays_the_end_by_the_drain_only() {
    let mut spec = spec("setsid sleep 1000 & echo $!");
    spec.drain = Duration::from_millis(100);
    let process = Process::spawn(&spec).unwrap();
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (Exit::Code(0), false, false));
    let escaped = whole(&process).trim().to_owned();
    assert!(runs(&escaped));
    assert_eq!(closed.left.strays, 1);
}

// contract: R7
#[tokio::test]
async fn a_character_split_over_two_writes_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let script = format!("printf 'a\\342\\202'; read x < {}; printf '\\254b'", gate.display());
    let process = start(&script);
    let mut cursor = TextCursor::default();
    soon(async {
        while process.read_bytes(Stream::Stdout, 0).bytes.len() < 3 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(process.read_text(Stream::Stdout, &mut cursor).text, "a");
    tokio::task::spawn_blocking(move || fs::write(gate, "go\n")).await.unwrap().unwrap();
    soon(process.done()).await;
    assert_eq!(process.read_text(Stream::Stdout, &mut cursor).text, "\u{20ac}b");
    assert!(process.read_text(Stream::Stdout, &mut cursor).is_empty());
}

// contract: B7
#[tokio::test]
async fn unread_output_stays_within_the_cap_and_is_counted() {
    let process = start("head -c 3145728 /dev/zero | tr '\\0' x; printf end");
    soon(process.done()).await;
    let read = process.read_text(Stream::Stdout, &mut TextCursor::default());
    assert_eq!(read.dropped_bytes, 3_145_728 + 3 - 64_000);
    assert_eq!(read.text.len(), 64_000);
    assert!(read.text.ends_with("xend"));
}

// contract: B7
#[tokio::test(flavor = "current_thread")]
async fn a_flood_starves_no_timer() {
    let process = start("yes & yes >&2 & yes & wait");
    output(&process, |text| text.len() > 1000).await;
    let began = Instant::now();
    let mut worst = Duration::ZERO;
    for _ in 0..50 {
        let before = Instant::now();
        tokio::time::sleep(Duration::from_millis(2)).await;
        worst = worst.max(before.elapsed());
    }
    let flowed = process.read_bytes(Stream::Stdout, 0).next;
    process.terminate();
    soon(process.done()).await;
    eprintln!("worst {worst:?} of 2 ms, {flowed} bytes in {:?}", began.elapsed());
    assert!(worst < Duration::from_secs(2), "{worst:?}");
}
