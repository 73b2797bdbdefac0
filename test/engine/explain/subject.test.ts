import { expect, test } from 'vitest';
import { commandName } from '../../../src/engine/explain/subject.ts';
import type { PodSnapshot } from '../../../src/engine/view/snapshot.ts';
import { makePod } from '../../builders/pods.ts';

/** A pod of a node that is `edge1`. */
function entry(fullName: string): PodSnapshot {
  const [namespace = '', name = ''] = fullName.split('/');
  const pod = makePod({ metadata: { namespace, name, uid: `uid-${fullName}` }, spec: { nodeName: 'edge1' } });
  return { pod, source: 'file', worker: { state: 'sync', working: false, pending: false }, events: [] };
}

test.each([
  ['that is alone', 'default/web-edge1', [], 'web'],
  ['beside another name', 'default/web-edge1', ['default/db-edge1', 'shop/web-2-edge1'], 'web'],
  ['beside a previous revision of itself', 'default/web-edge1', ['default/web-edge1'], 'web'],
  ['of another namespace', 'shop/web-edge1', ['default/web-edge1'], 'shop/web'],
  ['whose name another namespace has', 'default/web-edge1', ['shop/web-edge1'], 'default/web-edge1'],
  ['whose name another namespace has without the node', 'default/web-edge1', ['shop/web'], 'default/web-edge1'],
  ['whose name with the node belongs to another', 'shop/web-edge1-edge1', ['shop/web-edge1'], 'shop/web-edge1-edge1'],
])('a command names a pod %s so that it means no other', (_what, own, others, expected) => {
  const pods = [own, ...others].map(entry);
  const node = {
    runtime: { endpoint: '', chosenBecause: '', name: '', version: '' },
    pressures: [],
    sources: [],
    pods,
  };
  expect(commandName({ pod: entry(own).pod, node })).toBe(expected);
});

test('without an agent a command names a pod of the namespace default by its name', () => {
  expect(commandName({ pod: entry('default/web-edge1').pod })).toBe('web');
});
