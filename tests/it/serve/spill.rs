//! Output beyond what memory keeps.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Instant,
};

use serde_json::json;
use tempfile::TempDir;

use super::driver::{PATIENCE, Serve, text};

/// A server with little memory, and the folder for its files.
fn spilling(more: &[&str]) -> (Serve, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let serve = spilling_to(folder.path(), more);
    (serve, folder)
}

fn spilling_to(folder: &Path, more: &[&str]) -> Serve {
    let folder = folder.to_str().unwrap();
    let mut serve =
        Serve::start(&[&["--memory-bytes", "1000", "--spill-dir", folder], more].concat());
    serve.open("a", "s");
    serve
}

/// What lies in a folder, at any depth, but for folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// The path that a text names after those words.
fn path_after(text: &str, words: &str) -> PathBuf {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("no `{words}` in: {text}"));
    rest.split_once(']').unwrap().0.into()
}

fn numbers(to: u32) -> String {
    (1..=to).map(|number| format!("{number}\n")).collect()
}

// contract: B8, R8, M12, O1
#[test]
fn what_memory_lost_is_in_a_file_until_the_owner_is_disposed() {
    let (mut serve, folder) = spilling(&[]);
    let id = serve.start_command("a", "seq 1 300; seq 1 20000 >&2; printf '\\033[1mend\\n'");
    let read = serve.wait_for("a", &id);
    let stdout = path_after(&read, "bytes of stdout were dropped; all of it is in ");
    let stderr = path_after(&read, "bytes of stderr were dropped; all of it is in ");
    assert_eq!(fs::read_to_string(stdout).unwrap(), numbers(300) + "\u{1b}[1mend\n", "raw");
    assert_eq!(fs::read_to_string(&stderr).unwrap(), numbers(20_000));
    assert!(read.contains("\nend\n"), "{read}");
    assert_eq!(files(folder.path()).len(), 2);
    serve.ask(json!({"op": "dispose", "owner": "a"}));
    assert_eq!(count(folder.path()), 0, "the folder of ours has gone, too");
    assert!(serve.end().success());
}

// contract: B8, T2
#[test]
fn what_a_foreground_command_lost_is_kept_for_its_reader_until_the_end() {
    let (mut serve, folder) = spilling(&[]);
    let reply = serve.call("a", "bash", json!({"command": "seq 1 5000"}));
    let path = path_after(text(&reply), "all of it is in ");
    assert_eq!(fs::read_to_string(path).unwrap(), numbers(5000));
    let request = json!({"op": "call", "owner": null, "tool": "bash",
                         "args": {"command": "seq 1 3000"}});
    let unowned = serve.ask(request);
    let path = path_after(text(&unowned), "all of it is in ");
    assert_eq!(fs::read_to_string(&path).unwrap(), numbers(3000));
    serve.ask(json!({"op": "dispose", "owner": "a"}));
    assert_eq!(files(folder.path()), [path], "that of nobody's");
    serve.ask(json!({"op": "shutdown"}));
    assert_eq!(count(folder.path()), 0);
    assert!(serve.end().success());
}

// contract: B8
#[test]
fn nobody_else_may_read_the_files_and_their_maker_may_whatever_the_umask() {
    for mask in ["0", "0277", "0777"] {
        let folder = tempfile::tempdir().unwrap();
        let command = format!("umask {mask}; exec \"$0\" \"$@\"");
        let dir = folder.path().to_str().unwrap();
        let options = ["--memory-bytes", "1000", "--spill-dir", dir];
        let mut serve = Serve::start_under(&["bash", "-c", &command], &options);
        serve.open("a", "s");
        let reply = serve.call("a", "bash", json!({"command": "seq 1 5000"}));
        let path = path_after(text(&reply), "all of it is in ");
        assert_eq!(fs::read_to_string(&path).unwrap(), numbers(5000));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700), "umask {mask}");
        assert!(serve.end().success());
        assert_eq!(count(folder.path()), 0, "umask {mask}");
    }
}

/// What a read says now.
fn read(serve: &mut Serve, id: &str) -> String {
    text(&serve.call("a", "task_output", json!({"task_id": id}))).to_owned()
}

// contract: B8, R8
#[test]
fn what_a_live_command_wrote_is_in_the_file_as_far_as_is_told_and_soon_all_of_it() {
    let (mut serve, _folder) = spilling(&[]);
    let wait = "until [ -e go ]; do sleep 0.02; done";
    let id = serve.start_command("a", &format!("seq 1 30000; {wait}; echo end"));
    let mut path = None;
    loop {
        let said = read(&mut serve, &id);
        if said.contains(" dropped") {
            let named = path_after(&said, " in ");
            if said.contains("; all of it is in ") {
                let shown = said.lines().rev().nth(1).unwrap();
                let kept = fs::read_to_string(&named).unwrap();
                assert!(kept.contains(&format!("\n{shown}")), "not up to {shown}: {}", kept.len());
            }
            path = Some(named);
        } else if path.is_some() && said.starts_with("(no new output)") {
            break;
        }
    }
    // Nothing more comes from the command.
    let (path, began) = (path.unwrap(), Instant::now());
    while fs::read_to_string(&path).unwrap() != numbers(30_000) {
        assert!(began.elapsed() < PATIENCE, "{:?}", fs::metadata(&path));
        thread::yield_now();
    }
    serve.make("go");
    let end = serve.wait_for("a", &id);
    assert!(end.ends_with("end\n[status: completed, exit code: 0]"), "{end}");
    assert!(serve.end().success());
}

// contract: B8
#[test]
fn where_somebody_tidied_up_no_path_is_shown_and_the_next_ones_are_kept_again() {
    let (mut serve, folder) = spilling(&[]);
    let wait = "until [ -e go ]; do sleep 0.02; done";
    let live = serve.start_command("a", &format!("seq 1 20000; {wait}; seq 1 20000"));
    let over = serve.start_command("a", "seq 1 20000 | tail -n 19999; exit 3");
    serve.next("its end", |value| value["event"] == "notice" && value["task"] == *over);
    while !read(&mut serve, &live).contains(" in /") {}
    for entry in fs::read_dir(folder.path()).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    serve.make("go");
    for id in [live, over] {
        let said = serve.wait_for("a", &id);
        let mark = "dropped; the whole could not be kept: somebody has removed its file]\n";
        assert!(said.contains(mark), "{said}");
        assert!(said.contains("\n20000\n[status: completed, exit code: "), "{said}");
    }
    let reply = serve.call("a", "bash", json!({"command": "seq 1 5000"}));
    let path = path_after(text(&reply), "all of it is in ");
    assert_eq!(fs::read_to_string(path).unwrap(), numbers(5000));
    assert!(serve.end().success());
    assert_eq!(count(folder.path()), 0);
}

// contract: B8, M12
#[test]
fn a_folder_that_no_line_can_name_is_refused() {
    let (status, stderr) = Serve::start(&["--spill-dir", "x\n[status: completed]"]).refused();
    assert_eq!(status.code(), Some(1), "{stderr}");
    let says =
        "longrun: --spill-dir x\\n\\u{5b}status: completed]: expected one line of plain text";
    assert_eq!(stderr.trim_end(), says);
}

// contract: B7, B8
#[test]
fn bug_10_a_runaway_jobs_file_stops_at_its_cap_and_the_job_is_drained_on() {
    let (mut serve, folder) = spilling(&["--spill-bytes", "50000"]);
    let command = "while :; do echo 'worker crashed, restarting'; done | head -c 5000000; echo end";
    let id = serve.start_command("a", command);
    let read = serve.wait_for("a", &id);
    let path = path_after(&read, "; the first 50000 bytes are in ");
    assert!(read.ends_with("end\n[status: completed, exit code: 0]"), "{read}");
    let line = "worker crashed, restarting\n";
    assert_eq!(fs::read_to_string(path).unwrap(), line.repeat(2000)[..50_000]);
    assert_eq!(files(folder.path()).len(), 1);
    assert!(serve.end().success());
}

// contract: B8, T3
#[test]
fn bug_10_the_files_of_a_killed_harness_stop_growing_and_the_next_one_removes_them() {
    let (mut serve, folder) = spilling(&["--grace-ms", "200"]);
    let id = serve.start_command("a", "while :; do echo 'worker crashed, restarting'; done");
    let args = json!({"task_id": id});
    while !text(&serve.call("a", "task_output", args.clone())).contains("all of it is in ") {}
    serve.child.kill().unwrap();
    serve.child.wait().unwrap();
    let size = |path: &PathBuf| fs::metadata(path).unwrap().len();
    let sizes = || files(folder.path()).iter().map(size).collect::<Vec<_>>();
    assert_eq!(sizes().len(), 1, "nobody was left to remove it");
    let before = sizes();

    let mut next = spilling_to(folder.path(), &[]);
    assert_eq!(count(folder.path()), 0, "{before:?}");
    let reply = next.call("a", "bash", json!({"command": "seq 1 5000"}));
    assert!(path_after(text(&reply), "all of it is in ").exists());
    assert!(next.end().success());
    assert_eq!(count(folder.path()), 0);
}

/// A flood and a small job beside it, where nothing can be written.
fn survives(serve: &mut Serve, why: &str) {
    let command = "seq 1 400000; echo END; exit 5";
    let flood = serve.start_command("a", command);
    let small = serve.start_command("a", "echo fine");
    assert_eq!(serve.wait_for("a", &small), "fine\n[status: completed, exit code: 0]");
    let read = serve.wait_for("a", &flood);
    assert!(read.ends_with("\nEND\n[status: completed, exit code: 5]"), "{read}");
    let (mark, _) = read.split_once('\n').unwrap();
    assert!(mark.contains(&format!("; the whole could not be kept: {why}")), "{mark}");
    assert!(!mark.contains('/'), "a path is shown: {mark}");
}

// contract: B8
#[test]
fn bug_11_where_the_folder_is_missing_the_tail_is_served_and_no_path_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let mut serve = spilling_to(&missing, &[]);
    survives(&mut serve, "No such file or directory");
    fs::create_dir(&missing).unwrap();
    let reply = serve.call("a", "bash", json!({"command": "seq 1 5000"}));
    let path = path_after(text(&reply), "all of it is in ");
    assert_eq!(fs::read_to_string(path).unwrap(), numbers(5000), "later ones are kept again");
    assert!(serve.end().success());
}

// contract: B8
#[test]
fn bug_11_where_the_folder_is_a_file_the_tail_is_served_and_no_path_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let mut serve = spilling_to(&file, &[]);
    survives(&mut serve, "Not a directory");
    assert!(serve.end().success());
}

// contract: B8
#[test]
fn bug_11_where_files_may_not_be_so_large_the_tail_is_served_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let command = ["bash", "-c", "ulimit -f 100; exec \"$0\" \"$@\""];
    let dir = folder.path().to_str().unwrap();
    let mut serve = Serve::start_under(&command, &["--memory-bytes", "1000", "--spill-dir", dir]);
    serve.open("a", "s");
    survives(&mut serve, "File too large");
    let reply = serve.call("a", "bash", json!({"command": "seq 1 5000"}));
    let path = path_after(text(&reply), "all of it is in ");
    assert_eq!(fs::read_to_string(path).unwrap(), numbers(5000), "shorter ones are kept");
    assert!(serve.end().success());
}

// contract: B8
#[test]
fn bug_11_where_the_disk_is_full_no_half_of_a_file_is_offered() {
    let namespace = ["unshare", "--user", "--map-root-user", "--mount"];
    let probe = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"];
    let probe = Command::new(namespace[0]).args(&namespace[1..]).args(probe).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("not tried: nothing may be mounted here");
        return;
    }
    let mount = "mount -t tmpfs -o size=1m none /mnt && exec \"$@\"";
    let command = [&namespace[..], &["bash", "-c", mount, "bash"]].concat();
    let mut serve =
        Serve::start_under(&command, &["--memory-bytes", "1000", "--spill-dir", "/mnt"]);
    serve.open("a", "s");
    survives(&mut serve, "No space left on device");
    let reply = serve.call("a", "bash", json!({"command": "seq 1 5000; ls -R /mnt"}));
    assert!(text(&reply).contains("all of it is in "), "there is room again: {reply}");
    assert!(serve.end().success());
}
