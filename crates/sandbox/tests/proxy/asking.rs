//! Hosts that are not listed, where somebody can be asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use mayi_sandbox::proxy::{Doorkeeper, Patience};

use crate::stage::{Server, Stage, asking};

/// Says yes to `a.test`, once it is let speak.
#[derive(Default)]
struct Person {
    asked: Mutex<Vec<String>>,
    free: Mutex<bool>,
    freed: Condvar,
}

impl Person {
    fn let_speak(&self) {
        *self.free.lock().unwrap() = true;
        self.freed.notify_all();
    }
}

impl Doorkeeper for Person {
    fn may_reach(&self, host: &str, port: u16) -> bool {
        self.asked.lock().unwrap().push(format!("{host}:{port}"));
        let free = self.free.lock().unwrap();
        let _free = self.freed.wait_while(free, |free| !*free).unwrap();
        host == "a.test"
    }
}

#[test]
fn many_connections_to_one_host_wait_for_one_answer() {
    let web = Server::web();
    let person = Arc::new(Person::default());
    let stage = Stage::open(asking(person.clone(), Patience::default()));
    let address = format!("http://a.test:{}/", web.port);
    thread::scope(|scope| {
        let asking: Vec<_> = (0..40).map(|_| scope.spawn(|| stage.get(&address))).collect();
        while person.asked.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        person.let_speak();
        for answer in asking {
            assert!(answer.join().unwrap().starts_with("HTTP/1.1 200 "));
        }
    });
    let other = Server::web();
    assert!(stage.get(&format!("http://a.test:{}/", other.port)).starts_with("HTTP/1.1 200 "), "the host is known");
    assert_eq!(*person.asked.lock().unwrap(), [format!("a.test:{}", web.port)]);
    assert_eq!(stage.refusals(), [""; 0]);
}

#[test]
fn a_no_is_remembered_and_what_the_lists_settle_is_not_asked() {
    let web = Server::web();
    let person = Arc::new(Person::default());
    person.let_speak();
    let stage = Stage::open(asking(person.clone(), Patience::default()));
    for _ in 0..2 {
        let answer = stage.get(&format!("http://b.test:{}/", web.port));
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("the answer was no"), "{answer}");
    }
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    assert_eq!(stage.refusals().len(), 1);
    for host in ["denied.test", "169.254.169.254", "[::1]", "0x7f.1"] {
        assert!(stage.get(&format!("http://{host}:{}/", web.port)).starts_with("HTTP/1.1 403 "), "{host}");
    }
    assert!(stage.get(&format!("http://127.0.0.1:{}/", web.port)).starts_with("HTTP/1.1 200 "));
    assert_eq!(person.asked.lock().unwrap().len(), 1, "the lists had spoken");
}

#[test]
fn no_answer_is_a_no_until_it_comes() {
    let web = Server::web();
    let person = Arc::new(Person::default());
    let patience = Patience { answer: Duration::from_millis(100), ..Patience::default() };
    let stage = Stage::open(asking(person.clone(), patience));
    let address = format!("http://a.test:{}/", web.port);
    for _ in 0..2 {
        let answer = stage.get(&address);
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("nobody answered"), "{answer}");
    }
    person.let_speak();
    // The answer is on its way from another thread; refusals until it is there are no fault.
    let came = (0..100).any(|_| stage.get(&address).starts_with("HTTP/1.1 200 "));
    assert!(came && person.asked.lock().unwrap().len() == 1);
}

struct Panicking(AtomicUsize);

impl Doorkeeper for Panicking {
    fn may_reach(&self, _: &str, _: u16) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("on purpose")
    }
}

#[test]
fn a_panicking_doorkeeper_is_a_no() {
    let web = Server::web();
    let keeper = Arc::new(Panicking(AtomicUsize::new(0)));
    let stage = Stage::open(asking(keeper.clone(), Patience::default()));
    for _ in 0..2 {
        let answer = stage.get(&format!("http://a.test:{}/", web.port));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    assert_eq!((keeper.0.load(Ordering::SeqCst), web.visits()), (1, 0));
}

#[test]
fn whoever_is_asked_is_not_worn_down_and_the_report_stays_short() {
    let person = Arc::new(Person::default());
    person.let_speak();
    let stage = Stage::open(asking(person.clone(), Patience::default()));
    for number in 0..300 {
        assert!(stage.get(&format!("http://h{number}.test/")).starts_with("HTTP/1.1 403 "));
    }
    assert_eq!(person.asked.lock().unwrap().len(), 64);
    assert_eq!((stage.proxy.violations().len(), stage.proxy.more()), (256, 44));
}

#[test]
fn stopping_does_not_wait_for_an_answer() {
    let person = Arc::new(Person::default());
    let stage = Stage::open(asking(person.clone(), Patience::default()));
    let mut waiting = stage.connect();
    std::io::Write::write_all(&mut waiting, b"CONNECT a.test:443 HTTP/1.1\r\n\r\n").unwrap();
    while person.asked.lock().unwrap().is_empty() {
        thread::yield_now();
    }
    stage.proxy.stop();
    assert_eq!(crate::stage::text(&mut waiting), "");
    person.let_speak();
}
