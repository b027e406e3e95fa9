//! How much memory this process may have: that of the machine, or less where its container has a limit.

use std::fs;
use std::path::Path;

/// Bytes of memory that this process may have; `None` where the system does not tell.
pub(crate) fn available() -> Option<u64> {
    within(Path::new("/"))
}

/// The same by what lies below a folder.
fn within(root: &Path) -> Option<u64> {
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| total(&text));
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    groups.lines().filter_map(|line| of_group(&root.join("sys/fs/cgroup"), line)).chain(machine).min()
}

/// The machine's memory.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// The limit of a control group that this process is in, by its line in `/proc/self/cgroup`: `0::PATH` of version 2,
/// `N:memory:PATH` of version 1. The groups above it have limits as well. A container may see its own group as the root.
fn of_group(mounted: &Path, line: &str) -> Option<u64> {
    let (mounted, file, path) = match line.splitn(3, ':').collect::<Vec<_>>()[..] {
        ["0", "", path] => (mounted.to_owned(), "memory.max", path),
        [_, kinds, path] if kinds.split(',').any(|kind| kind == "memory") => {
            (mounted.join("memory"), "memory.limit_in_bytes", path)
        }
        _ => return None,
    };
    let limit = |group: &Path| {
        let text = fs::read_to_string(mounted.join(group).join(file)).ok()?;
        text.trim().parse::<u64>().ok() // "max" is none
    };
    Path::new(path.trim_start_matches('/')).ancestors().filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)]) -> Option<u64> {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
            fs::write(path, text).expect("can be written");
        }
        within(folder.path())
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:       16384000 kB\nMemFree:         1 kB\n");

    #[test]
    fn without_a_limit_it_is_the_memory_of_the_machine() {
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[MACHINE]), Some(16_384_000 << 10));
        let unlimited = [MACHINE, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")];
        assert_eq!(told(&unlimited), Some(16_384_000 << 10));
    }

    #[test]
    fn the_limit_of_a_container_counts_in_both_versions_of_control_groups() {
        let two = ("proc/self/cgroup", "0::/pod/box\n");
        assert_eq!(told(&[MACHINE, two, ("sys/fs/cgroup/pod/box/memory.max", "1073741824\n")]), Some(1 << 30));
        assert_eq!(
            told(&[MACHINE, two, ("sys/fs/cgroup/pod/memory.max", "1073741824\n")]),
            Some(1 << 30),
            "of its pod"
        );
        assert_eq!(
            told(&[MACHINE, two, ("sys/fs/cgroup/memory.max", "1073741824\n")]),
            Some(1 << 30),
            "seen as the root"
        );
        let one = ("proc/self/cgroup", "9:cpu,cpuacct:/pod\n4:memory:/pod\n0::/\n");
        let limits = [
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "536870912\n"),
        ];
        assert_eq!(told(&[MACHINE, one, limits[0], limits[1]]), Some(1 << 29));
    }
}
