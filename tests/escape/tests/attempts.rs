//! Every attempt, as root and as an ordinary user, on every level of confinement that this machine offers. None may
//! succeed that the report does not foretell.

use anyhow::{Result, ensure};
use mayi_escape_tests::attempt;
use mayi_escape_tests::trial::{prepare, works_without_walls};
use mayi_escape_tests::{Level, Person, World, try_all};

#[track_caller]
fn nobody_gets_out(level: Level, person: Person) -> Result<()> {
    if !Person::all().contains(&person) {
        eprintln!("NOT TESTED: {person:?} {level:?}: only root can become others");
        return Ok(());
    }
    eprintln!("{}", try_all(person, level)?);
    Ok(())
}

#[test]
fn root_does_not_get_out_of_namespaces() -> Result<()> {
    nobody_gets_out(Level::Native, Person::Root)
}

#[test]
fn an_ordinary_user_does_not_get_out_of_namespaces() -> Result<()> {
    nobody_gets_out(Level::Native, Person::Ordinary)
}

#[test]
fn root_does_not_get_out_of_bubblewrap() -> Result<()> {
    nobody_gets_out(Level::Bubblewrap, Person::Root)
}

#[test]
fn an_ordinary_user_does_not_get_out_of_bubblewrap() -> Result<()> {
    nobody_gets_out(Level::Bubblewrap, Person::Ordinary)
}

#[test]
fn root_does_not_get_out_of_landlock() -> Result<()> {
    nobody_gets_out(Level::Landlock, Person::Root)
}

#[test]
fn an_ordinary_user_does_not_get_out_of_landlock() -> Result<()> {
    nobody_gets_out(Level::Landlock, Person::Ordinary)
}

#[test]
fn nobody_gets_out_where_the_kernel_refuses_namespaces() -> Result<()> {
    nobody_gets_out(Level::NoNamespaces, Person::Ordinary)
}

#[test]
fn nobody_gets_out_where_sandboxes_may_be_made_inside() -> Result<()> {
    nobody_gets_out(Level::Nested, Person::Ordinary)
}

/// An attempt that never worked proves nothing about walls.
#[test]
fn attempts_work_where_there_are_no_walls() -> Result<()> {
    let world = World::start("unwalled")?;
    prepare(&world)?;
    let attempts = attempt::all()?;
    let proved: Vec<_> = attempts.iter().filter(|attempt| attempt.proved).collect();
    ensure!(attempts.len() >= 200 && proved.len() >= 100, "{} of {}", proved.len(), attempts.len());
    let mut broken = Vec::new();
    for attempt in proved {
        if !works_without_walls(&world, attempt)? {
            broken.push(attempt.name.clone());
        }
    }
    ensure!(broken.is_empty(), "these attempts do not work anywhere: {}", broken.join(", "));
    Ok(())
}
