import { mkdtemp, rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from '../agent.ts';
import { containerdReleases } from '../containerd-releases.ts';
import { makePod, serve, shell } from '../manifests.ts';
import { NetworkNamespace } from '../network-namespace.ts';
import { nodeRemains } from './node-remains.ts';
import { runRounds } from './run-rounds.ts';

// `npm run rounds` sets these.
const rounds = Number(process.env['ROUNDS'] ?? '12');
const seed = Number(process.env['ROUNDS_SEED'] ?? '1');
const wantedRelease = process.env['ROUNDS_CONTAINERD'] ?? 'as installed';

const timeout = 120_000 + rounds * 20_000;
const object = (kind: string): object => ({ apiVersion: 'v1', kind, metadata: { name: 'shared' } });

let namespace: NetworkNamespace;
let agent: Agent;
let hostFolder: string;

beforeAll(async () => {
  const containerd = containerdReleases().find(({ release }) => release === wantedRelease);
  if (containerd === undefined) throw new Error(`there is no containerd ${wantedRelease} here`);
  namespace = await NetworkNamespace.create();
  hostFolder = await mkdtemp('/tmp/kts-rounds-');
  // What only the first pods make: folders, chains of iptables, cgroups of QoS classes.
  const warmUp = makePod('warm-up', {
    hostNetwork: false,
    volumes: [{ name: 'disk', emptyDir: {} }],
    containers: [
      shell('app', serve, {
        ports: [{ containerPort: 80, hostPort: 19_999 }],
        volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
      }),
    ],
  });
  agent = await startAgent({
    containerd,
    networkNamespace: namespace.path,
    // The last pod may go in the moment in which the agent is killed.
    flags: ['--prune'],
    manifests: {
      'config.yaml': { ...object('ConfigMap'), data: { key: 'value' } },
      'secret.yaml': { ...object('Secret'), stringData: { password: 'hunter2' } },
      'warm-up.yaml': warmUp,
    },
  });
  await agent.untilReady('warm-up');
  await agent.remove('warm-up.yaml');
  await agent.untilNoPods();
});
afterAll(async () => {
  await agent.cleanUp();
  await namespace.remove();
  await rm(hostFolder, { recursive: true });
}, timeout);

test(`${rounds} random rounds of pods leave nothing behind (seed ${seed})`, { timeout }, async () => {
  const nothing = new Set<string>();
  await agent.stop();
  const before = await nodeRemains({ agent, namespace, sandboxIDs: nothing, networkNamespaces: nothing });
  await agent.start();
  const say = rounds > 20 ? (line: string) => process.stdout.write(`${line}\n`) : () => undefined;
  const seen = await runRounds({ agent, seed, rounds, hostFolder, say });
  await agent.stop();
  expect(await nodeRemains({ agent, namespace, ...seen })).toEqual(before);
  say(`${seen.sandboxIDs.size} sandboxes, ${seen.networkNamespaces.size} network namespaces were seen`);
});
