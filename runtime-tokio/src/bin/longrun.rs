//! The command `longrun`.

fn main() -> std::process::ExitCode {
    longrun_tokio::cli::main()
}
