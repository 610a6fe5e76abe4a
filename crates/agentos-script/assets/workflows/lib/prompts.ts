// What agents are told. Each prompt says what is wanted, what there is, what not to do, and how to end. The workflow commits,
// tests and pushes; an agent that did so too would get in its way.

import type { Feature } from "./sdlc.ts";

const HANDS_OFF = `- Do not commit, stage, push, or switch branches: the workflow does that.`;

const LOOK_ONLY = `- Only look: change no files and run no commands that do. Do not ask back; nobody can answer.`;

function tagged(tag: string, text: string): string {
  return `<${tag}>\n${text}\n</${tag}>`;
}

export function spec(name: string, brief: string): string {
  return `You write the specification of a change to the code base in the current folder: "${name}".

This is all that was said about it:
${tagged("brief", brief)}

Read the code that the change will touch, so that the specification fits it. Then say, in this order:
1. the goal, in two or three sentences, and who benefits;
2. what the code does afterwards that it does not do now, as requirements that can be checked one by one;
3. errors and edge cases, and what happens in each;
4. what is out of scope;
5. the tests that show that it is done.

Rules:
- Say what, not how: the plan comes later.
- Where the brief is silent, choose what users would expect, and mark it as an assumption.
${LOOK_ONLY}
- Your last message is the specification itself, in Markdown, beginning with a heading; nothing before or after it.`;
}

export function plan(feature: Feature): string {
  return `You plan a change to the code base in the current folder: "${feature.name}". Another engineer, who has not seen this
conversation, implements it from your plan.

${tagged("specification", feature.spec)}

Read the code that the change touches first: its structure, its conventions, its tests. Then write the plan:
1. what changes, file by file, with the names of functions and types, and why there;
2. the order of the work, in steps that each leave the code working;
3. which tests are added or changed and what each shows (they are run with \`${feature.testCommand}\`);
4. risks, and what you decided where the specification is silent.

Rules:
- Prefer the smallest change that satisfies the specification. No new dependencies unless it can't be done without.
${LOOK_ONLY}
- Your last message is the plan itself, in Markdown, beginning with a heading; nothing before or after it. It will be kept as
  ${feature.planPath}.`;
}

export function implement(feature: Feature): string {
  return `You implement a change to the code base in the current folder: "${feature.name}".

${tagged("specification", feature.spec)}

The plan is in ${feature.planPath}: read it first, and follow it. Where it turns out to be wrong, do what the specification
needs and say so at the end.

Rules:
- Complete work only: no placeholders, no disabled or weakened tests. Keep to the conventions of the code around you.
- Add or change the tests that show that it works.
- You do not have to run the tests: the workflow runs \`${feature.testCommand}\` when you are done, and you get the output if
  they fail.
${HANDS_OFF}
- Leave ${feature.planPath} as it is.
- End with a summary of what you changed and why, in at most ten lines of plain text: it becomes the commit message.`;
}

export function fix(feature: Feature, exitCode: number, output: string): string {
  return `The tests fail after your change "${feature.name}": \`${feature.testCommand}\` ended with exit status ${exitCode}.

${tagged("output", output)}

Find the cause and fix it. The specification still holds, and so does the plan in ${feature.planPath}.

Rules:
- Fix the code, not the test, unless the test contradicts the specification. Never delete, skip or weaken a test to pass.
- If something outside of the code is wrong (a missing tool, a network), change nothing and say what is missing.
${HANDS_OFF}
- End with what was wrong and what you did about it, in at most five lines of plain text: it becomes the commit message.`;
}

export function review(feature: Feature, diff: string, isCut: boolean, round: number): string {
  const again = `The author has worked on your remarks. This is round ${round}: look whether each of them is settled, and at what is new.
Do not bring up what you could have said before unless it is serious.`;
  return `You review a change to the code base in the current folder: "${feature.name}". Somebody else wrote it; its tests pass.
${round > 1 ? `\n${again}\n` : ""}
${tagged("specification", feature.spec)}

${tagged("diff", diff)}
${isCut ? "\nThe difference is longer than this; read the files for the rest.\n" : ""}
Read the files around the change where the difference alone does not tell. Look for, in this order: requirements that are not
met; mistakes (wrong results, lost data, races, security); missing or empty tests; code that the next reader will not
understand. Leave matters of taste alone.

Rules:
${LOOK_ONLY}
- \`approve\` if it can be merged as it is, otherwise \`changes\`. Each remark names file and line, what is wrong, and what to
  do instead; with \`approve\` the list may be empty.
- \`summary\` is one or two sentences.`;
}

export function rework(feature: Feature, remarks: readonly string[]): string {
  return `A reviewer wants changes to your work on "${feature.name}":

${remarks.map((remark, index) => `${index + 1}. ${remark}`).join("\n")}

Settle each remark in the code, with tests where they were missing. If one of them is wrong, leave the code as it is there and
say why at the end.

Rules:
- The specification still holds, and so does the plan in ${feature.planPath}.
- The workflow runs \`${feature.testCommand}\` when you are done.
${HANDS_OFF}
- End with what you changed for each remark, in plain text: it becomes the commit message.`;
}

export function draftIssue(brief: string): string {
  return `You write an issue for the maintainers of the project in the current folder, from these notes:

${tagged("notes", brief)}

Look at the project where the notes refer to it. Whoever works on the issue has only what you write. It has:
- a heading with a title that says what is wanted in at most 70 characters;
- the problem: who has it, and what happens today;
- what should happen instead, as requirements that can be checked one by one;
- what is out of scope, and questions that are open;
- how one sees that it is done.

Rules:
- Say nothing that neither the notes nor the project support. Mark assumptions as such.
${LOOK_ONLY}
- Your last message is the issue itself, in Markdown, beginning with the heading \`# …\`; nothing before or after it.`;
}

export function reviewIssue(brief: string, draft: string, round: number): string {
  return `You review the draft of an issue for the project in the current folder.${round > 1 ? ` This is round ${round}: look whether your remarks are settled.` : ""}

It was written from these notes:
${tagged("notes", brief)}

${tagged("draft", draft)}

Could an engineer who knows nothing else work on it? Look for: something of the notes that is missing or was made up; requirements
that can't be checked; contradictions; unclear scope.

Rules:
${LOOK_ONLY}
- \`approve\` if it can be filed as it is, otherwise \`changes\`; each remark says what is wrong and what to write instead.
- \`summary\` is one or two sentences.`;
}

export function reviseIssue(draft: string, remarks: readonly string[]): string {
  return `A reviewer wants changes to your draft of the issue:

${remarks.map((remark, index) => `${index + 1}. ${remark}`).join("\n")}

${tagged("draft", draft)}

Rules:
${LOOK_ONLY}
- Your last message is the whole issue, revised, in Markdown, beginning with the heading \`# …\`; nothing before or after it.`;
}

export function regroup(ids: readonly string[], changes: string): string {
  return `You tidy a series of ${ids.length} changes before others read them, oldest first:

${tagged("changes", changes)}

Say which of them belong together, and give each group a message. Fixups, reverts and "wip" go into the change that they mend;
changes that stand on their own stay apart. Files can't be edited, and changes can't be split: at the end the code has to be
exactly what it is now.

Rules:
- Use each of these ids exactly once: ${ids.join(", ")}
- Groups are in the order of their first change; within a group, changes keep their order.
- A message has a subject of at most 70 characters that says what the group does, an empty line, and why if that is not
  obvious. Keep what is worth keeping of the old messages: references, trailers such as \`Co-authored-by\`.
- Change no files and run no commands.`;
}
