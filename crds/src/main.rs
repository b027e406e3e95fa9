//! Prints the definitions of Rankwright's resources as YAML.

fn main() {
    print!("{}", rankwright_crds::yaml());
}
