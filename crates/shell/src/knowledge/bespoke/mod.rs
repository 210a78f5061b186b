//! Readers for programs whose words no table describes. Each works on the same cursor and leaves the same items;
//! names and roles still come from the data.

mod cloud;
mod copy;
mod dd;
mod env;
mod find;
mod ps;
mod tar;
mod test;

use crate::knowledge::model::Reader;
use crate::knowledge::reading::Cursor;

/// Reads the rest of the words.
pub(crate) fn read(cursor: &mut Cursor<'_>) {
    match cursor.reading.spec.reader {
        Reader::Described => {}
        Reader::Find => find::read(cursor),
        Reader::Test => test::read(cursor),
        Reader::Dd => dd::read(cursor),
        Reader::Tar => tar::read(cursor),
        Reader::Ps => ps::read(cursor),
        Reader::Env => env::read(cursor),
        Reader::Copy => copy::read(cursor),
        Reader::Cloud => cloud::read(cursor),
    }
}
