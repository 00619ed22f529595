//! `farlink study run` and `report`: published experiments, run again and judged.

use crate::common::Desk;

#[test]
fn a_study_is_run_and_judged() {
    let desk = Desk::new();
    let ran = desk.farlink("study run petuchowski2015 --quick --store s.sqlite");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("petuchowski2015/tcp: run 1, 88 journeys in "), "{}", ran.out);
    assert!(ran.out.contains("petuchowski2015/page: run 3, 8 journeys in "), "{}", ran.out);
    assert!(ran.out.contains("\n148 journeys in "), "{}", ran.out);
    let command = "farlink study report petuchowski2015 --quick --store s.sqlite\n";
    assert!(ran.out.ends_with(command), "{}", ran.out);
    let again = desk.farlink("study run petuchowski2015 --quick --store s.sqlite");
    assert!(again.out.contains("\n0 journeys in "), "{}", again.out);

    let report = "study report petuchowski2015 --quick --store s.sqlite --tables t -o reports";
    let told = desk.farlink(report);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.starts_with("study "), "the summary comes first: {}", told.out);
    assert!(told.out.contains(" inconclusive: pet-t1-links, "), "{}", told.out);
    assert!(told.out.lines().count() < 25, "one screen: {}", told.out);
    let claims = desk.farlink("study report petuchowski2015 --quick --claims --store s.sqlite");
    assert!(claims.out.starts_with("study "), "the summary comes first: {}", claims.out);
    assert!(claims.out.contains("pet-t1-links (strong): inconclusive"), "{}", claims.out);
    let claims = desk.read("t/petuchowski2015/claims.csv");
    let is_claim = |line: &&str| line.starts_with("pet-");
    assert_eq!(claims.lines().filter(is_claim).count(), 17, "{claims}");
    let commands = desk.read("t/petuchowski2015/commands.txt");
    assert!(commands.contains("farlink study report petuchowski2015 --quick"), "{commands}");
    assert!(desk.read("reports/petuchowski2015-page.html").starts_with("<!"));
    // The store holds no full runs, and the report says so.
    let full = desk.farlink("study report petuchowski2015 --store s.sqlite");
    assert!(full.out.contains("open: waits for a run of `page`"), "{}", full.out);
}

#[test]
fn a_study_is_run_in_wrong_laboratories() {
    let desk = Desk::new();
    let known = desk.farlink("study laboratories");
    assert!(known.out.contains("no-loss-recovery") && known.out.contains("tls-for-http"));
    let run = "study run petuchowski2015 --quick --store s.sqlite";
    desk.farlink(run).ok();
    let there = "--laboratory no-loss-recovery --laboratory no-radio";
    let ran = desk.farlink(&format!("{run} {there}"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = "petuchowski2015/page [no-loss-recovery]: run ";
    assert!(ran.out.contains(page), "{}", ran.out);
    let same = "petuchowski2015/page [no-radio]: nothing is to be run, it is as in the study's";
    assert!(ran.out.contains(same), "{}", ran.out);
    let report = "study report petuchowski2015 --quick --claims --store s.sqlite --tables t";
    let told = desk.farlink(report);
    assert!(told.out.contains("in the laboratory no-loss-recovery "), "{}", told.out);
    let laboratories = desk.read("t/petuchowski2015/laboratories.csv");
    assert!(laboratories.contains("\ntcp-linux-6,unstated,no,,,,,\n"), "{laboratories}");
    let commands = desk.read("t/petuchowski2015/commands.txt");
    let there = "--quick --store s.sqlite --laboratory no-loss-recovery\n";
    assert!(commands.contains(there), "{commands}");

    let refused = desk.farlink("study run petuchowski2015 --laboratory no-radios --store s.sqlite");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("unknown laboratory `no-radios`"), "{}", refused.err);
}

#[test]
fn an_emulated_study_is_a_grid_of_its_own() {
    let desk = Desk::new();
    let there = "study run bth2013 --world emu --laboratory no-radio --store s.sqlite";
    let refused = desk.farlink(there);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("a reduced grid has a laboratory of its own"), "{}", refused.err);
    // The store exists, but holds no run of it.
    let told = desk.farlink("study report bth2013 --world emu --store s.sqlite --tables t");
    assert_eq!(told.code, 0, "{}", told.err);
    let table = |name: &str| desk.read(&format!("t/bth2013/{name}"));
    assert!(table("agreement.csv").ends_with("\n0,0,0,0,0,0,0,,\n"), "{}", table("agreement.csv"));
    assert!(table("experiments.csv").contains("\nrtt-http,10,20,,,0\n"));
    let run = "farlink study run bth2013 --world emu --store s.sqlite\n";
    assert!(table("commands.txt").starts_with(run), "{}", table("commands.txt"));
    let refused = desk.farlink("study report bth2013 --world emu --store s.sqlite -o reports");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--output is for studies in the world sim"), "{}", refused.err);
}

#[test]
fn which_study_must_be_said() {
    let desk = Desk::new();
    assert_eq!(desk.farlink("study run").code, 2);
    assert_eq!(desk.farlink("study run --all bth2013").code, 2);
    let unknown = desk.farlink("study report bth2012 --store s.sqlite");
    assert_eq!(unknown.code, 2);
}
