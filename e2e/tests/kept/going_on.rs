//! Going on with what was kept.

use crate::home::Home;
use crate::sample::Sample;
use rankwright_e2e::Service;
use serde_json::Value;

/// What programs told on the way.
pub(crate) struct Told {
    /// Answers before anything came, as they were sent.
    pub(crate) first: Vec<String>,
    /// Those to the same requests after it.
    pub(crate) then: Vec<String>,
    /// How many rankings there are in the end, for training and for testing.
    pub(crate) trained: Value,
}

/// Asks, has further events come, and asks again; all programs start again in between.
pub(crate) fn gone_on(home: &Home<'_>, sample: &Sample) -> Told {
    let (story, status) = (sample.story(), home.status());
    assert_eq!(status["problem"], Value::Null, "{status:#}");
    assert!(status["state"]["found"]["size"]["bytes"].as_u64() > Some(0), "{status:#}");
    let mut programs = vec![home.start_first()];
    if home.is_shared() {
        // known by their ids: a repetition only has the effect that open rankings of its time are not closed
        programs[0].feedback(list(&story["open"]));
    }
    let first = asked(&programs[0], &story);
    programs.extend(home.start_last());
    programs[0].feedback(list(&story["next"]));
    home.until_closed(&programs);
    end(programs);
    if home.is_shared() {
        let said = home.import(sample); // what was closed goes into parts now, as there may be no more to come
        assert!(said.contains("import took events=0 "), "the file is known: {said}");
    }
    let programs = home.start();
    let then = asked(&programs[0], &story);
    end(programs);
    let mut trained = home.trained();
    assert!(trained["decision"]["running"].is_number(), "the version from before was read: {trained}");
    Told { first, then, trained: trained["rankings"].take() }
}

/// The events of a part of the story.
pub(crate) fn list(events: &Value) -> &[Value] {
    events.as_array().expect("a list")
}

fn asked(server: &Service, story: &Value) -> Vec<String> {
    let answer = |asked: &Value| server.post(asked["path"].as_str().expect("a path"), &asked["request"]).ok().text;
    list(&story["asked"]).iter().map(answer).collect()
}

/// Tells programs to end.
pub(crate) fn end(programs: Vec<Service>) {
    for program in programs.into_iter().rev() {
        program.terminate();
        assert_eq!(program.wait(), Some(0));
    }
}
