//! One fleet, one recipe, two kinds of agent: one in a pane that is typed to, and one that is called.
//! Each alone is shown in the other files.

use serde_json::json;

use super::super::team::Team;

#[test]
fn a_recipe_has_the_work_of_both_kinds_of_worker() {
    let team = Team::called("");
    let work = team.work().display().to_string();
    team.house.write(
        "team.lua",
        &format!(
            r#"
fleet.profile("typed", {{ launcher = "claude", model = "scripted", endpoint = "anthropic", cwd = "{work}" }})
fleet.profile("called", {{ launcher = "opencode", model = "scripted", endpoint = "chat", cwd = "{work}" }})
fleet.role("w-typed", {{ profiles = {{ "typed" }} }})
fleet.role("w-called", {{ profiles = {{ "called" }} }})
fleet.recipe("both", {{ deadline = "2m" }}, function(job, run)
  local replies = run:each({{ "w-typed", "w-called" }}, function(role)
    return run:send {{ to = role, prompt = "SAY:by " .. role }}
  end)
  local judged = run:send {{ to = "w-called", prompt = "SAY:both are there\n" .. run:quote(replies[1].text) }}
  return {{ replies[1].text, replies[2].text, judged.text, replies[1].from.launcher, replies[2].from.launcher }}
end)
"#
        ),
    );
    let config = std::fs::read_to_string(team.house.path().join("fleetd.toml")).unwrap();
    let anthropic = format!("[endpoints.anthropic]\nurl = \"{}\"\nkey_env = \"MODEL_KEY\"\n", team.model.url());
    std::fs::write(team.house.path().join("fleetd.toml"), config + &anthropic).unwrap();
    let daemon = team.house.start();
    let (status, run) = daemon.post("/v1/run", &json!({ "recipe": "both", "wait": "2m" }));
    assert_eq!(status, 200, "{run}");
    let value = json!(["by w-typed", "by w-called", "both are there", "claude", "opencode"]);
    assert_eq!((&run["outcome"], &run["value"]), (&json!("done"), &value), "{run}");
}
