//! Memory for a process that needs little of it: handed out piece after piece. Small pieces are used again for pieces of
//! the same size, a few large ones for whatever has room in them.
//!
//! It confines nothing. It is here because this folder holds all unsafe code of the project, and an allocator cannot
//! be written without. What it must never do is hand out memory that is in use.
#![allow(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{Advice, madvise};

/// What a hook needs, several times over. Pages that nobody touches cost nothing.
const SIZE: usize = 1024 * 1024;
/// So much every hook touches. It is asked for in one go, which is a little quicker than one fault for each page.
const TOUCHED: usize = 52 * 1024;
/// And so much of its stack, below where it begins.
const DEEP: usize = 32 * 1024;
/// The arena begins at an address that is a multiple of this, as every page does.
const ALIGNMENT: usize = 4096;
/// What is used of an arena that is not open on this thread.
const CLOSED: usize = usize::MAX;
/// A piece is a multiple of this, and begins at one.
const GRAIN: usize = 8;
/// A piece that was given back holds the one before it.
const _: () = assert!(GRAIN >= size_of::<*mut u8>());
/// Pieces of so many grains, and fewer, are used again for the same size. Every page that is touched for the first time
/// costs.
const KINDS: usize = 64;
/// So many larger ones are used again piece by piece.
const SPARES: usize = 4;

#[repr(C, align(4096))]
struct Arena(UnsafeCell<[MaybeUninit<u8>; SIZE]>);

// SAFETY: nothing in here is read or written through this type; its pieces are handed out by one thread alone.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([const { MaybeUninit::uninit() }; SIZE]));
static OPENED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How much of the arena is handed out, on the one thread that it is open on.
    static USED: Cell<usize> = const { Cell::new(CLOSED) };
    /// For each size the piece that was given back last. It holds the one before it.
    static BACK: [Cell<*mut u8>; KINDS] = const { [const { Cell::new(ptr::null_mut()) }; KINDS] };
    /// Large pieces that were given back, or what is left of them: where each begins and ends.
    static SPARE: [Cell<(usize, usize)>; SPARES] = const { [const { Cell::new((0, 0)) }; SPARES] };
}

/// An allocator over another one. Once it is opened, its thread takes memory from an arena without a lock and without
/// looking for a place; other threads, and what finds no room there, still take it from the other one.
#[derive(Debug)]
pub struct Brief<A>(A);

impl<A> Brief<A> {
    /// Over an allocator, and not open.
    pub const fn over(usual: A) -> Self {
        Self(usual)
    }

    /// Opens the arena for this thread. The first thread that asks has it, for good.
    pub fn open(&self) {
        if !OPENED.swap(true, Ordering::Relaxed) {
            populate(start(), TOUCHED);
            let here = 0_u8;
            let page = (&raw const here).addr() & !(ALIGNMENT - 1);
            populate(ptr::without_provenance_mut(page - DEEP), DEEP);
            USED.set(0);
        }
    }
}

/// Asks for pages before they are touched. A kernel that cannot do that brings each when it is.
fn populate(from: *mut u8, length: usize) {
    // SAFETY: the range is the arena's own or this thread's stack, and asking for pages does not change what is in them.
    let _ = unsafe { madvise(from.cast(), length, Advice::LinuxPopulateWrite) };
}

/// Whether this process is one that needs little: it opened the arena.
#[cfg(all(target_env = "musl", target_arch = "x86_64", feature = "memory"))]
pub(super) fn is_open() -> bool {
    OPENED.load(Ordering::Relaxed)
}

fn start() -> *mut u8 {
    ARENA.0.get().cast()
}

/// How large a piece is that so many bytes are wanted from.
fn whole(size: usize) -> usize {
    size.next_multiple_of(GRAIN)
}

/// Whether pieces of such a size are used again: a change to the list of those that were given back.
fn again<T>(size: usize, change: impl FnOnce(&Cell<*mut u8>) -> T) -> Option<T> {
    BACK.with(|back| back.get((whole(size) / GRAIN).wrapping_sub(1)).map(change))
}

/// A piece of the arena.
fn take(layout: Layout) -> Option<NonNull<u8>> {
    let used = USED.get();
    if used == CLOSED || layout.align() > ALIGNMENT || layout.size() > SIZE {
        return None;
    }
    if layout.align() <= GRAIN {
        let back = again(layout.size(), |last| {
            let piece = NonNull::new(last.get())?;
            // SAFETY: a piece that was given back holds the one before it, and is nobody's.
            last.set(unsafe { piece.cast::<*mut u8>().read() });
            Some(piece)
        });
        if let Some(piece) = back.flatten() {
            return Some(piece);
        }
    }
    let from = match from_spare(layout) {
        Some(from) => from,
        None => {
            let (from, to) = within(used, layout);
            if to > SIZE {
                return None;
            }
            USED.set(to);
            from
        }
    };
    // SAFETY: `from` is within the arena.
    NonNull::new(unsafe { start().add(from) })
}

/// Where a piece begins and ends that is taken from a place on.
fn within(place: usize, layout: Layout) -> (usize, usize) {
    // An alignment is a power of two, so this needs no division. The compiler does not know that it is one.
    let below = layout.align().max(GRAIN) - 1;
    let from = (place + below) & !below;
    (from, from + whole(layout.size()))
}

/// Where a piece begins that was part of a large one before.
fn from_spare(layout: Layout) -> Option<usize> {
    SPARE.with(|spares| {
        spares.iter().find_map(|spare| {
            let (left, end) = spare.get();
            let (from, to) = within(left, layout);
            (to <= end).then(|| {
                spare.set((to, end));
                from
            })
        })
    })
}

/// Keeps a large piece that was given back, instead of the smallest that is kept.
fn spare(place: usize, end: usize) {
    SPARE.with(|spares| {
        let length = |spare: &&Cell<(usize, usize)>| {
            let (from, to) = spare.get();
            to - from
        };
        if let Some(smallest) = spares.iter().min_by_key(length).filter(|spare| length(spare) < end - place) {
            smallest.set((place, end));
        }
    });
}

/// Takes a piece of the arena back, if it is open on this thread.
fn give_back(piece: *mut u8, place: usize, size: usize) {
    let used = USED.get();
    if place + whole(size) == used {
        USED.set(place);
    } else if used != CLOSED {
        let kept = again(size, |last| {
            // SAFETY: the piece is nobody's any more, as large as a grain at least, and begins at one.
            unsafe { piece.cast::<*mut u8>().write(last.get()) };
            last.set(piece);
        });
        if kept.is_none() {
            spare(place, place + whole(size));
        }
    }
}

/// Where a piece begins in the arena, if it is one of its own.
fn place(piece: *mut u8) -> Option<usize> {
    Some(piece.addr().wrapping_sub(start().addr())).filter(|place| *place < SIZE)
}

// SAFETY: what the arena hands out is as large and as aligned as was asked for, and nobody else's: it is new, or was
// given back by whoever had it, to the thread that hands them out. Everything else the other allocator does, with the
// layouts that it gave.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Brief<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match take(layout) {
            Some(piece) => piece.as_ptr(),
            // SAFETY: as the caller promises.
            None => unsafe { self.0.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match take(layout) {
            Some(piece) => {
                // SAFETY: the piece is that large, and nobody else's.
                unsafe { piece.write_bytes(0, layout.size()) };
                piece.as_ptr()
            }
            // SAFETY: as the caller promises.
            None => unsafe { self.0.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match place(piece) {
            Some(place) => give_back(piece, place, layout.size()),
            // SAFETY: it is none of the arena's, so the other allocator gave it.
            None => unsafe { self.0.dealloc(piece, layout) },
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(place) = place(piece) else {
            // SAFETY: it is none of the arena's, so the other allocator gave it.
            return unsafe { self.0.realloc(piece, layout, size) };
        };
        if whole(size) == whole(layout.size()) {
            return piece;
        }
        if place + whole(layout.size()) == USED.get() && size <= SIZE - place - GRAIN {
            USED.set(place + whole(size));
            return piece;
        }
        // SAFETY: the caller promises that the size is fit for a layout; both pieces are as large as what is copied,
        // and the new one is nobody else's.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(piece, new, layout.size().min(size));
                self.dealloc(piece, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::System;

    use super::*;

    /// One test, because there is one arena: what it hands out never overlaps, moves with its content, is used again when
    /// it was given back, and comes from elsewhere when there is no room or the thread is another one.
    #[test]
    fn pieces_are_nobody_elses_and_used_again() {
        let heap = Brief::over(System);
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        // SAFETY: every layout has a size, and every piece is given back with its own.
        unsafe {
            let before = heap.alloc(layout(10, 1));
            assert_eq!(place(before), None, "not open yet");
            heap.open();
            let first = heap.alloc(layout(10, 1));
            first.write_bytes(7, 10);
            let second = heap.alloc(layout(64, 64));
            assert!(second.addr().is_multiple_of(64) && place(second) >= Some(place(first).unwrap() + 10));
            second.write_bytes(9, 64);
            assert_eq!(heap.realloc(first, layout(10, 1), 16), first, "there is room in its last grain");
            assert_eq!(heap.realloc(second, layout(64, 64), 128), second, "the last one grows where it is");
            let moved = heap.realloc(first, layout(16, 1), 4000);
            assert_eq!(std::slice::from_raw_parts(moved, 10), [7; 10]);
            assert_eq!(std::slice::from_raw_parts(second, 64), [9; 64]);
            heap.dealloc(moved, layout(4000, 1));
            let again = heap.alloc_zeroed(layout(4000, 1));
            assert_eq!((again, std::slice::from_raw_parts(again, 4000)), (moved, [0; 4000].as_slice()));
            assert_eq!(heap.alloc(layout(9, 8)), first, "what had moved away is used again");
            let other = heap.alloc(layout(9, 8));
            assert!(place(other) > place(again), "and once only");
            let (small, large) = (heap.alloc(layout(24, 8)), heap.alloc(layout(GRAIN * KINDS, 8)));
            heap.dealloc(small, layout(24, 8));
            heap.dealloc(other, layout(9, 8));
            heap.dealloc(first, layout(9, 8));
            assert_eq!(heap.alloc(layout(17, 4)), small, "each size by itself");
            assert_eq!([heap.alloc(layout(10, 1)), heap.alloc(layout(16, 8))], [first, other], "the last one first");
            let askew = [8, 16, 8, 16, 8].map(|size| heap.alloc(layout(size, 8)));
            let askew = askew.into_iter().skip(1).step_by(2).find(|piece| !piece.addr().is_multiple_of(16)).unwrap();
            heap.dealloc(askew, layout(16, 8));
            let straight = heap.alloc(layout(16, 16));
            assert!(straight != askew && straight.addr().is_multiple_of(16), "not where it would stand askew");
            assert_eq!(heap.alloc(layout(16, 8)), askew, "but whoever has no such wish gets it");
            let next = heap.alloc(layout(8, 8));
            heap.dealloc(large, layout(GRAIN * KINDS, 8));
            assert_eq!(heap.alloc(layout(GRAIN * KINDS - GRAIN + 1, 8)), large);
            assert!(place(heap.alloc(layout(16, 8))) > place(next));
            let (roomy, above) = (heap.alloc(layout(3000, 8)), heap.alloc(layout(8, 8)));
            heap.dealloc(roomy, layout(3000, 8));
            assert_eq!(heap.alloc(layout(1000, 8)), roomy, "a large one by parts");
            let part = heap.alloc(layout(1000, 64));
            assert!(part.addr().is_multiple_of(64) && place(part) >= Some(place(roomy).unwrap() + 1000));
            assert!(place(heap.alloc(layout(1000, 8))) > place(above), "what has no room in what is left is new");
            assert!(place(heap.alloc(layout(800, 8))) < place(above), "what has some is not");
            let giant = heap.alloc(layout(2 * SIZE, 8));
            assert_eq!(place(giant), None, "no room");
            heap.dealloc(giant, layout(2 * SIZE, 8));
            let there = again.addr();
            let elsewhere = std::thread::spawn(move || {
                let heap = Brief::over(System);
                heap.open();
                heap.dealloc(ptr::with_exposed_provenance_mut(there), layout(4000, 1));
                let own = heap.alloc(layout(8, 8));
                let is_own = place(own).is_none();
                heap.dealloc(own, layout(8, 8));
                is_own
            });
            assert!(elsewhere.join().unwrap(), "the arena is another thread's");
            assert_ne!(heap.alloc(layout(4000, 1)), again, "what another thread gave back is not handed out again");
            heap.dealloc(before, layout(10, 1));
        }
    }
}
