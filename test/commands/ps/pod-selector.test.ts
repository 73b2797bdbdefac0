import { expect, test } from 'vitest';
import { type ChoiceFlags, podSelector } from '../../../src/commands/ps/pod-selector.ts';
import { makePod } from '../../builders/pods.ts';

const node = { nodeName: 'edge1', sources: [] };

const pods = [
  makePod({ metadata: { name: 'web-edge1', labels: { app: 'web' } }, status: { phase: 'Running' } }),
  makePod({ metadata: { name: 'db-edge1', labels: { app: 'db' } } }),
  makePod({ metadata: { name: 'dns-edge1', namespace: 'kube-system' } }),
].map((pod) => ({ pod }));

test.each<[what: string, names: string[], flags: ChoiceFlags, chosen: string[]]>([
  ['all pods', [], {}, ['web-edge1', 'db-edge1', 'dns-edge1']],
  ['a namespace', [], { namespace: 'kube-system' }, ['dns-edge1']],
  [
    'all namespaces, whatever the other flag',
    [],
    { namespace: 'x', allNamespaces: true },
    ['web-edge1', 'db-edge1', 'dns-edge1'],
  ],
  ['a label', [], { selector: 'app=web' }, ['web-edge1']],
  ['a label that others have', [], { selector: 'app!=web' }, ['db-edge1', 'dns-edge1']],
  ['a field', [], { fieldSelector: 'status.phase!=Running,metadata.namespace=default' }, ['db-edge1']],
  ['a label and a field', [], { selector: 'app', fieldSelector: 'status.phase=Running' }, ['web-edge1']],
  ['names', ['db', 'pod/web', 'kube-system/dns'], {}, ['db-edge1', 'web-edge1', 'dns-edge1']],
  ['an order', [], { sortBy: '.metadata.name' }, ['db-edge1', 'dns-edge1', 'web-edge1']],
])('ps chooses by %s', async (_what, names, flags, chosen) => {
  const found = await podSelector(names, flags)(pods, node);
  expect(found.map(({ pod }) => pod.metadata.name)).toEqual(chosen);
});

test('an unknown name is an error with the nearest one', async () => {
  await expect(podSelector(['wep-edge1'], {})(pods, node)).rejects.toMatchObject({
    message: 'no pod "wep-edge1"',
    hint: 'Did you mean web-edge1?',
  });
});

test('the beginning of a name does not match', async () => {
  const admin = [{ pod: makePod({ metadata: { name: 'web-admin-edge1' } }) }];
  await expect(podSelector(['web'], {})(admin, node)).rejects.toThrow('no pod "web"');
});

test('a pod of another node is known without the name of that node', async () => {
  const other = [{ pod: makePod({ metadata: { name: 'web-edge2' } }) }];
  expect(await podSelector(['web'], {})(other, node)).toEqual(other);
});
