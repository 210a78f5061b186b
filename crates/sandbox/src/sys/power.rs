//! Raising to a power. The runtime's statistics do so, and nothing else in the program wants anything from the C library's
//! mathematics: with this, no start has to find and map that library.
#![allow(unsafe_code, reason = "it has a name that C knows")]

/// `x` to the power of `y`.
// SAFETY: it is what C calls by this name.
#[unsafe(no_mangle)]
extern "C" fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    /// What the compiler makes of `powf` is a call of the function above.
    #[test]
    fn powers_are_right() {
        for (x, y, wanted) in [(2.0, 10.0, 1024.0), (0.5, 3.0, 0.125), (9.0, 0.5, 3.0), (7.0, 0.0, 1.0)] {
            let power: f64 = black_box::<f64>(x).powf(black_box(y));
            assert_eq!(power.to_bits(), f64::to_bits(wanted), "{x} to the power of {y}");
        }
    }
}
