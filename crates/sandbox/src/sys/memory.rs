//! Copying and comparing memory, for the static build: musl's own way begins every copy, of however few bytes, with an
//! instruction that takes longer to start than most copies take, and compares one byte after the other. A hook copies some
//! two thousand short texts and compares some hundreds.
//!
//! These stand in for musl's `memcpy`, `memmove`, `memcmp` and `bcmp`. Whatever a later store could reach is loaded before:
//! up to 64 bytes all of it, beyond that what lies at the far end.
#![allow(unsafe_code, reason = "it is not written in Rust")]

use std::arch::global_asm;

// In rdi, rsi and rdx: to where, from where, and how many bytes. In rax: to where, as C wants it back.
global_asm!(
    ".pushsection .text.mayi_copy,\"ax\",@progbits",
    ".balign 16",
    ".type mayi_copy,@function",
    ".hidden mayi_copy",
    ".globl mayi_copy",
    "mayi_copy:",
    "mov rax, rdi",
    "cmp rdx, 16",
    "jb 4f",
    // Up to 32: the first and the last 16, which may share some.
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + rdx - 16]",
    "cmp rdx, 32",
    "ja 2f",
    "movups [rdi], xmm0",
    "movups [rdi + rdx - 16], xmm1",
    "ret",
    // Up to 64: the first and the last 32.
    "2:",
    "movups xmm2, [rsi + 16]",
    "movups xmm3, [rsi + rdx - 32]",
    "cmp rdx, 64",
    "ja 3f",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm2",
    "movups [rdi + rdx - 32], xmm3",
    "movups [rdi + rdx - 16], xmm1",
    "ret",
    // More: 64 after 64, and the last 64, loaded before anything is stored.
    "3:",
    "movups xmm4, [rsi + rdx - 64]",
    "movups xmm5, [rsi + rdx - 48]",
    "lea r8, [rdi + rdx - 64]",
    "5:",
    "movups xmm6, [rsi]",
    "movups xmm7, [rsi + 16]",
    "movups xmm8, [rsi + 32]",
    "movups xmm9, [rsi + 48]",
    "movups [rdi], xmm6",
    "movups [rdi + 16], xmm7",
    "movups [rdi + 32], xmm8",
    "movups [rdi + 48], xmm9",
    "add rsi, 64",
    "add rdi, 64",
    "cmp rdi, r8",
    "jb 5b",
    "movups [r8], xmm4",
    "movups [r8 + 16], xmm5",
    "movups [r8 + 32], xmm3",
    "movups [r8 + 48], xmm1",
    "ret",
    // Up to 15: the first and the last 8 or 4.
    "4:",
    "cmp edx, 8",
    "jb 6f",
    "mov rcx, [rsi]",
    "mov r8, [rsi + rdx - 8]",
    "mov [rdi], rcx",
    "mov [rdi + rdx - 8], r8",
    "ret",
    "6:",
    "cmp edx, 4",
    "jb 7f",
    "mov ecx, [rsi]",
    "mov r8d, [rsi + rdx - 4]",
    "mov [rdi], ecx",
    "mov [rdi + rdx - 4], r8d",
    "ret",
    // Up to 3: the first, the middle and the last one.
    "7:",
    "test edx, edx",
    "jz 8f",
    "mov r9, rdx",
    "shr r9, 1",
    "mov cl, [rsi]",
    "mov r8b, [rsi + r9]",
    "mov r10b, [rsi + rdx - 1]",
    "mov [rdi], cl",
    "mov [rdi + r9], r8b",
    "mov [rdi + rdx - 1], r10b",
    "8:",
    "ret",
    ".size mayi_copy, . - mayi_copy",
    // The same where both may overlap.
    ".balign 16",
    ".type mayi_move,@function",
    ".hidden mayi_move",
    ".globl mayi_move",
    "mayi_move:",
    "mov rax, rdi",
    "sub rax, rsi",
    "cmp rax, rdx",
    "jae mayi_copy",
    "cmp rdx, 64",
    "jbe mayi_copy",
    // The target begins within the source: 64 before 64, and the first 64, loaded before anything is stored.
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + 32]",
    "movups xmm3, [rsi + 48]",
    "2:",
    "movups xmm4, [rsi + rdx - 16]",
    "movups xmm5, [rsi + rdx - 32]",
    "movups xmm6, [rsi + rdx - 48]",
    "movups xmm7, [rsi + rdx - 64]",
    "movups [rdi + rdx - 16], xmm4",
    "movups [rdi + rdx - 32], xmm5",
    "movups [rdi + rdx - 48], xmm6",
    "movups [rdi + rdx - 64], xmm7",
    "sub rdx, 64",
    "cmp rdx, 64",
    "ja 2b",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + 32], xmm2",
    "movups [rdi + 48], xmm3",
    "mov rax, rdi",
    "ret",
    ".size mayi_move, . - mayi_move",
    // In rdi, rsi and rdx: one text, the other, and how many bytes. In eax: below zero if the first byte that differs is
    // less in the first, zero if none does.
    ".balign 16",
    ".type mayi_compare,@function",
    ".hidden mayi_compare",
    ".globl mayi_compare",
    "mayi_compare:",
    "cmp rdx, 8",
    "jb 4f",
    // Eight after eight, and the last eight, which may share some.
    "lea r8, [rdx - 8]",
    "xor r9d, r9d",
    "2:",
    "mov rax, [rdi + r9]",
    "mov rcx, [rsi + r9]",
    "cmp rax, rcx",
    "jne 3f",
    "add r9, 8",
    "cmp r9, r8",
    "jb 2b",
    "mov rax, [rdi + r8]",
    "mov rcx, [rsi + r8]",
    "cmp rax, rcx",
    "jne 3f",
    "xor eax, eax",
    "ret",
    // The first byte counts most.
    "3:",
    "bswap rax",
    "bswap rcx",
    "cmp rax, rcx",
    "sbb eax, eax",
    "or eax, 1",
    "ret",
    // Four to seven: the first and the last four, as one number.
    "4:",
    "cmp edx, 4",
    "jb 5f",
    "mov eax, [rdi]",
    "mov ecx, [rsi]",
    "mov r8d, [rdi + rdx - 4]",
    "mov r9d, [rsi + rdx - 4]",
    "shl r8, 32",
    "shl r9, 32",
    "or rax, r8",
    "or rcx, r9",
    "cmp rax, rcx",
    "jne 3b",
    "xor eax, eax",
    "ret",
    // Up to three: the first, the middle and the last one.
    "5:",
    "xor eax, eax",
    "test edx, edx",
    "jz 6f",
    "movzx eax, byte ptr [rdi]",
    "movzx ecx, byte ptr [rsi]",
    "sub eax, ecx",
    "jnz 6f",
    "mov r8, rdx",
    "shr r8, 1",
    "movzx eax, byte ptr [rdi + r8]",
    "movzx ecx, byte ptr [rsi + r8]",
    "sub eax, ecx",
    "jnz 6f",
    "movzx eax, byte ptr [rdi + rdx - 1]",
    "movzx ecx, byte ptr [rsi + rdx - 1]",
    "sub eax, ecx",
    "6:",
    "ret",
    ".size mayi_compare, . - mayi_compare",
    ".popsection",
);

#[cfg(target_env = "musl")]
global_asm!(
    ".globl memcpy",
    ".type memcpy,@function",
    ".set memcpy, mayi_copy",
    ".globl memmove",
    ".type memmove,@function",
    ".set memmove, mayi_move",
    ".globl memcmp",
    ".type memcmp,@function",
    ".set memcmp, mayi_compare",
    ".globl bcmp",
    ".type bcmp,@function",
    ".set bcmp, mayi_compare",
);

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        fn mayi_copy(to: *mut u8, from: *const u8, count: usize) -> *mut u8;
        fn mayi_move(to: *mut u8, from: *const u8, count: usize) -> *mut u8;
        fn mayi_compare(one: *const u8, other: *const u8, count: usize) -> i32;
    }

    /// Every length up to some dozens, with a byte that differs at every place, and others behind it that say the contrary.
    #[test]
    fn the_first_byte_that_differs_decides() {
        let compare = |one: &[u8], other: &[u8], count: usize| {
            assert!(one.len() >= count && other.len() >= count);
            // SAFETY: both hold that many bytes.
            unsafe { mayi_compare(one.as_ptr(), other.as_ptr(), count) }.signum()
        };
        let one: Vec<u8> = (0..100_u32).map(|number| (number * 7 % 251) as u8 + 2).collect();
        for count in 0..=90 {
            assert_eq!(compare(&one[1..], &one[1..], count), 0, "{count} bytes");
            for differs in 0..=count {
                for (less, more) in [(1, 200), (127, 128), (0, 255)] {
                    let (mut low, mut high) = (one.clone(), one.clone());
                    (low[3 + differs], high[3 + differs]) = (less, more);
                    high[4 + differs..].fill(0);
                    let wanted = if differs < count { -1 } else { 0 };
                    assert_eq!(compare(&low[3..], &high[3..], count), wanted, "{count} bytes, at {differs}");
                    assert_eq!(compare(&high[3..], &low[3..], count), -wanted, "{count} bytes, at {differs}");
                }
            }
        }
    }

    /// Every length up to some hundred, wherever both begin, and not a byte beside it.
    #[test]
    fn every_byte_is_copied_and_no_other() {
        let source: Vec<u8> = (0..700_u32).map(|number| (number * 7 % 251) as u8).collect();
        for count in (0..=300).chain([511, 512, 513, 640]) {
            for (to, from) in [(0, 0), (1, 0), (0, 3), (5, 9), (16, 32)] {
                let mut target = vec![255; 700];
                let mut wanted = target.clone();
                wanted[to..to + count].copy_from_slice(&source[from..from + count]);
                // SAFETY: both hold that many bytes from there on, and they are not the same.
                let back = unsafe { mayi_copy(target.as_mut_ptr().add(to), source.as_ptr().add(from), count) };
                assert_eq!(back, target.as_mut_ptr().wrapping_add(to));
                assert_eq!(target, wanted, "{count} bytes from {from} to {to}");
            }
        }
    }

    /// In both directions, by little and by much.
    #[test]
    fn what_overlaps_is_moved() {
        for count in (0..=300).chain([511, 512, 513, 640]) {
            for by in [0, 1, 2, 7, 15, 16, 17, 33, 63, 64, 65, 130] {
                for (to, from) in [(0, by), (by, 0)] {
                    let mut memory: Vec<u8> = (0..900_u32).map(|number| (number * 7 % 251) as u8).collect();
                    let mut wanted = memory.clone();
                    wanted.copy_within(from..from + count, to);
                    let start = memory.as_mut_ptr();
                    // SAFETY: the memory holds all of both.
                    let back = unsafe { mayi_move(start.add(to), start.add(from), count) };
                    assert_eq!(back, start.wrapping_add(to));
                    assert_eq!(memory, wanted, "{count} bytes from {from} to {to}");
                }
            }
        }
    }
}
