import type { Agent } from '../agent.ts';
import type { FactMachine } from './fact-machine.ts';

/** By what it shows: what a shell is asked, and what it must answer. Spaces around answers are ignored. */
export type Facts = Readonly<Record<string, readonly [see: string, is: string]>>;

/** A pod that runs, and its facts by container. */
export interface FactPod {
  readonly name: string;
  /** The manifest. */
  readonly pod: object;
  readonly facts: Readonly<Record<string, Facts>>;
}

/** Pods whose facts form one table, on a machine like this one. */
export interface FactGroup {
  readonly title: string;
  readonly pods: (machine: FactMachine) => readonly FactPod[];
}

/** By pod, container and fact. */
type Answers = Record<string, Record<string, Record<string, string>>>;

/** Returns what the containers of these pods see. Each container is asked everything at once. */
export async function answersSeen(agent: Agent, pods: readonly FactPod[]): Promise<Answers> {
  const answers: Answers = {};
  for (const { name, facts } of pods) {
    await agent.untilReady(name);
    const asked = Object.entries(facts).map(async ([container, table]) => {
      return [container, await ask(agent, name, container, table)] as const;
    });
    answers[name] = Object.fromEntries(await Promise.all(asked));
  }
  return answers;
}

/** Returns what they should see. */
export function answersWanted(pods: readonly FactPod[]): Answers {
  const wanted = (facts: Facts): Record<string, string> =>
    Object.fromEntries(Object.entries(facts).map(([fact, [, is]]) => [fact, is]));
  return Object.fromEntries(
    pods.map(({ name, facts }) => [
      name,
      Object.fromEntries(Object.entries(facts).map(([container, table]) => [container, wanted(table)])),
    ]),
  );
}

/** Begins the answer to each question. */
const mark = '\u0001';

async function ask(agent: Agent, pod: string, container: string, facts: Facts): Promise<Record<string, string>> {
  const script = Object.values(facts).map(([see]) => `printf '${mark}'\n(\n${see}\n) 2>&1`);
  const { stdout, stderr } = await agent.cli(['exec', pod, '-c', container, '--', 'sh', '-c', script.join('\n')]);
  const [before, ...answers] = stdout.split(mark);
  const names = Object.keys(facts);
  if (before !== '' || answers.length !== names.length) throw new Error(`${pod}/${container}: ${stdout}${stderr}`);
  return Object.fromEntries(names.map((name, index) => [name, answers[index]?.trim() ?? '']));
}
