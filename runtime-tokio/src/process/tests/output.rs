//! What a process writes.

use futures::StreamExt as _;

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

/// What is observed from that byte on: the texts joined, and how many bytes are missing.
/// There are no gaps and no overlaps.
async fn observed(process: &Process, from: u64) -> (String, u64) {
    let pieces: Vec<Piece> = soon(process.observe(from).collect()).await;
    let mut next = from;
    for piece in &pieces {
        assert_eq!(piece.offset, next + piece.dropped, "{pieces:?}");
        next = piece.next;
    }
    let text = pieces.iter().map(|piece| piece.text.as_str()).collect();
    (text, pieces.iter().map(|piece| piece.dropped).sum())
}

// contract: R6, R7
#[tokio::test]
async fn observers_of_a_live_and_of_an_ended_process_get_all_of_both_streams_as_written() {
    // Each write is a line, and comes as one.
    let script = "for i in {1..200}; do printf \"$i\\342\\202\\254\\r\\n\"; \
                  ((i % 50)) || echo \"no $i\" >&2; done";
    let process = start(script);
    let (live, part) = tokio::join!(observed(&process, 0), observed(&process, 100));
    let mut lines: Vec<&str> = live.0.split_inclusive('\n').collect();
    let stderr: Vec<&str> = lines.extract_if(.., |line| line.starts_with("no ")).collect();
    assert_eq!(stderr, ["no 50\n", "no 100\n", "no 150\n", "no 200\n"]);
    let expected: String = (1..=200).map(|i| format!("{i}\u{20ac}\r\n")).collect();
    assert_eq!((lines.concat(), live.1), (expected, 0));
    let at = live.0.ceil_char_boundary(100);
    assert_eq!(part, (live.0[at..].to_owned(), (at - 100) as u64));
    soon(process.done()).await;
    assert_eq!(observed(&process, 0).await, live);
    let own = process.read(&mut Cursor::default());
    assert_eq!(own.of(Stream::Stdout).text.lines().count(), 200, "an observer consumed it");
}

// contract: R6, B7
#[tokio::test]
async fn observers_of_a_flood_miss_what_is_not_kept_and_count_it() {
    let process = start("head -c 3145728 /dev/zero | tr '\\0' x; printf end");
    let live = observed(&process, 0).await;
    assert_eq!(live.0.len() as u64 + live.1, 3_145_731);
    assert!(live.0.ends_with("xend"));
    soon(process.done()).await;
    assert_eq!(observed(&process, 0).await.1, 3_145_731 - 64_000);
    assert_eq!(observed(&process, 5_000_000).await, (String::new(), 0));
}

// contract: R6, T2
#[tokio::test]
async fn an_observer_keeps_no_process_alive_and_ends_with_it() {
    let process = start("echo up; sleep 1000 & wait");
    line(&process).await;
    let (pid, observer) = (process.pid(), process.observe(0));
    drop(process);
    let pieces: Vec<Piece> = soon(observer.collect()).await;
    assert_eq!(pieces.iter().map(|piece| piece.text.as_str()).collect::<String>(), "up\n");
    until(|| !exists(pid)).await;
}
