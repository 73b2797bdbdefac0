import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { SeededRandom } from '../../builders/seeded-random.ts';
import type { Agent } from '../agent.ts';
import { untilGone } from '../until-gone.ts';
import { randomPod } from './random-pod.ts';

/** What was seen in the runtime during the rounds. */
export interface SeenInRounds {
  readonly sandboxIDs: Set<string>;
  readonly networkNamespaces: Set<string>;
}

interface Rounds {
  agent: Agent;
  seed: number;
  rounds: number;
  hostFolder: string;
  /** Called with a line for each round. */
  say: (line: string) => void;
}

const podNames = ['red', 'green', 'blue', 'black', 'white', 'grey'] as const;
const firstHostPort = 20_000;

/**
 * Creates, changes and removes pods as a seed decides, often before the previous one has started or stopped, and
 * sometimes kills the agent. Then removes all pods. Resolves when the agent has nothing left to do for any pod.
 */
export async function runRounds({ agent, seed, rounds, hostFolder, say }: Rounds): Promise<SeenInRounds> {
  const random = new SeededRandom(seed);
  const seen: SeenInRounds = { sandboxIDs: new Set(), networkNamespaces: new Set() };
  const declared = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const name = random.pick(podNames);
    const action = declared.has(name) ? random.pick(['change', 'remove'] as const) : 'create';
    const podSeed = random.fork();
    say(`round ${round}: ${action} ${name}`);
    if (action === 'remove') {
      await agent.remove(`${name}.yaml`);
      declared.delete(name);
    } else {
      const surroundings = { hostPort: firstHostPort + podNames.indexOf(name), hostFolder };
      await agent.write(`${name}.yaml`, randomPod(name, new SeededRandom(podSeed), surroundings));
      declared.add(name);
    }
    const patience = random.next();
    if (patience < 0.03) {
      await agent.kill9();
      await agent.start();
    } else if (patience < 0.35) {
      await untilTakenUp(agent, declared);
    }
    await look(agent, seen);
  }
  for (const name of declared) await agent.remove(`${name}.yaml`);
  await agent.untilNoPods();
  for (const uid of await readdir(join(agent.rootDir, 'pods'))) await untilGone(join(agent.rootDir, 'pods', uid));
  return seen;
}

/**
 * Waits until exactly the pods with these names exist and each was synced, but not until they run. Two pods may have
 * the same name: if one is changed to an image that cannot be pulled, its previous revision keeps running.
 */
async function untilTakenUp(agent: Agent, declared: ReadonlySet<string>): Promise<void> {
  await agent.until(({ pods }) => {
    const names = new Set(pods.map(({ pod }) => pod.metadata.name.replace(/-[^-]*$/, '')));
    const isAsDeclared = names.size === declared.size && [...names].every((name) => declared.has(name));
    return isAsDeclared && pods.every(({ worker }) => worker.lastSyncAt !== undefined || worker.state === 'waiting');
  });
}

/** Records the sandboxes, and their network namespaces as CNI stored them. */
async function look(agent: Agent, { sandboxIDs, networkNamespaces }: SeenInRounds): Promise<void> {
  const connection = await agent.connect();
  const { items } = await connection.runtime.listPodSandbox({});
  connection.close();
  for (const { id } of items) {
    sandboxIDs.add(id);
    const file = `/var/lib/cni/results/kubelet-ts-${id}-eth0`;
    const text = existsSync(file) ? await readFile(file, 'utf8').catch(() => '') : '';
    for (const [path] of text.matchAll(/\/netns\/cni-[0-9a-f-]+/g)) networkNamespaces.add(basename(path));
  }
}
