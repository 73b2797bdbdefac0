import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { NetworkNamespace } from './network-namespace.ts';

let namespace: NetworkNamespace;
let agents: Agent[] = [];

beforeAll(async () => {
  namespace = await NetworkNamespace.create();
  const web = makePod('web', { hostNetwork: false, containers: [shell('app', serve)] });
  agents = await Promise.all(
    [1, 2].map(() => startAgent({ networkNamespace: namespace.path, manifests: { 'web.json': web } })),
  );
  for (const agent of agents) await agent.untilReady('web');
});
afterAll(async () => {
  for (const agent of agents.slice(1)) await agent.cleanUp();
  await namespace.remove();
});

const bridges = async (): Promise<string[]> =>
  [...(await namespace.run('ip', '-o', 'link')).matchAll(/: (kts[0-9a-f]+):/g)].map(([, name = '']) => name);

test('two root-dirs have a bridge each, and down --all takes only its own', async () => {
  expect(new Set(await bridges()).size).toBe(2);
  const [one, other] = agents;
  const before = await other?.untilReady('web');
  await one?.cleanUp();
  expect(await bridges()).toHaveLength(1);
  const address = before?.pod.status?.podIP ?? '';
  expect(await namespace.run('ip', 'route', 'get', address)).toContain((await bridges())[0]);
});
