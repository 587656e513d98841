//! Talking with a process.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

fn talk(script: &str) -> (Process, Conversation) {
    let grace = Duration::from_millis(200);
    Process::converse(&ProcessSpec { grace, ..spec(script) }).unwrap()
}

// contract: U4, L7
#[tokio::test]
async fn what_is_written_is_read_and_answered_until_the_input_closes() {
    let (process, Conversation { mut stdin, mut stdout }) =
        talk("echo ready >&2; cat; echo over >&2");
    stdin.write_all(b"one\n").await.unwrap();
    let mut line = [0; 4];
    soon(stdout.read_exact(&mut line)).await.unwrap();
    assert_eq!(&line, b"one\n");
    drop(stdin);
    let mut rest = String::new();
    soon(stdout.read_to_string(&mut rest)).await.unwrap();
    assert_eq!(rest, "");
    assert_eq!(summary(soon(process.done()).await), (Exit::Code(0), false, true));
    // Of its output nothing is kept; its standard error is.
    let mut cursor = Cursor::default();
    assert_eq!(process.read(&mut cursor).text(), "[stderr]\nready\nover\n");
}

// contract: U4, B5, L7
#[tokio::test]
async fn one_that_nobody_reads_is_closed_all_the_same() {
    let (process, mut conversation) = talk("trap '' TERM; yes & yes & while :; do sleep 1; done");
    // It has come to its trap.
    soon(conversation.stdout.read_u8()).await.unwrap();
    process.terminate();
    assert_eq!(summary(soon(process.done()).await), (KILLED, true, true));
    drop(conversation);
    // Nor does what it has left in the pipe, or who reads it elsewhere.
    let (process, conversation) = talk("yes | head -c 10000; exit 3");
    assert_eq!(summary(soon(process.done()).await), (Exit::Code(3), false, true));
    drop(conversation);
}
