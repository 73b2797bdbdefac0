import { expect, test } from 'vitest';
import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { World } from './world.ts';

/** A leak of one entry a pod shows with any number. */
const podsOfEachKind = 4;

/** States of the kinds of pods after half a minute. */
const states = {
  plain: 'Running',
  fails: 'CrashLoopBackOff',
  ends: 'Succeeded',
  probed: 'Running',
  unpulled: 'ErrImagePull',
  unmounted: 'ContainerCreating',
  refused: 'NodeAffinity',
  waiting: 'WaitingForPods',
};

test('nothing in the engine names pods that came and went', async () => {
  const world = await World.make();
  world.runtime.script('fails', { exitAfterMs: 100, exitCode: 1 });
  world.runtime.script('ends', { exitAfterMs: 100 });
  world.runtime.injectError('pullImage', new Refusal(codes.unknown, 'nobody has it'), { times: Infinity });
  world.runtime.addImage('registry.example/app:1');
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const image = 'registry.example/app:1';
  const probe = { periodSeconds: 1, exec: { command: ['true'] } };
  const numbers = Array.from({ length: podsOfEachKind }, (_, index) => index);
  const pods = numbers.flatMap((index) => [
    makeStaticPod(`gone-plain-${index}`),
    makeStaticPod(`gone-fails-${index}`, { spec: { containers: [{ name: 'fails', image }] } }),
    makeStaticPod(`gone-ends-${index}`, { spec: { restartPolicy: 'Never', containers: [{ name: 'ends', image }] } }),
    makeStaticPod(`gone-probed-${index}`, {
      spec: { containers: [{ name: 'main', image, readinessProbe: probe, livenessProbe: probe }] },
    }),
    makeStaticPod(`gone-unpulled-${index}`, { spec: { containers: [{ name: 'main', image: 'nowhere:1' }] } }),
    makeStaticPod(`gone-unmounted-${index}`, {
      spec: {
        volumes: [{ name: 'data', configMap: { name: `gone-data-${index}` } }],
        containers: [{ name: 'main', image, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      },
    }),
    makeStaticPod(`gone-refused-${index}`, { spec: { nodeSelector: { disk: 'none' } } }),
    makeStaticPod(`gone-waiting-${index}`, { annotations: { [dependsOnAnnotation]: `gone-unpulled-${index}` } }),
  ]);
  source.set(...pods);
  await world.pass(30_000);
  const { pods: known } = engine.kubelet.snapshot();
  expect(Object.fromEntries(known.slice(0).map((shown) => [shown.pod.metadata.name, stateOf(shown)]))).toEqual(
    Object.fromEntries(
      numbers.flatMap((index) => Object.entries(states).map(([kind, state]) => [`gone-${kind}-${index}-edge1`, state])),
    ),
  );
  source.set();
  await world.until(async () => engine.kubelet.snapshot().pods.length === 0 && (await world.inventory()).length === 0);
  await world.clock.advance(1_500_000);
  await world.pass(5000);
  const names = new RegExp(['gone-', ...pods.map(({ metadata }) => metadata.uid)].join('|'));
  expect(collections(mentions(engine.kubelet, [world.runtime, world.clock], names))).toEqual({
    // The newest 1,000 UIDs of removed pods are kept on purpose.
    'kubelet.parts.garbage.removed': pods.length,
  });
});

function stateOf({ pod: { status = {} } }: PodSnapshot): string | undefined {
  const reason = status.containerStatuses?.[0]?.state?.waiting?.reason ?? status.reason ?? status.phase;
  // Both are the same state: ErrImagePull right after a try, ImagePullBackOff until the next.
  return reason === 'ImagePullBackOff' ? 'ErrImagePull' : reason;
}

/** Number of paths by part of the kubelet. */
function collections(paths: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const path of paths) {
    const part = path.split('.').slice(0, 4).join('.');
    counts[part] = (counts[part] ?? 0) + 1;
  }
  return counts;
}

/** Paths of the matching strings that are reachable from an object. Does not look into closures. */
function mentions(root: object, borders: readonly object[], pattern: RegExp): string[] {
  const seen = new Set<unknown>(borders);
  const found: string[] = [];
  const queue: { value: unknown; path: string }[] = [{ value: root, path: 'kubelet' }];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { value, path } = next;
    if (typeof value === 'string' && pattern.test(value)) found.push(path);
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    // Bytes name nothing, and one entry for each of them takes a minute.
    if (ArrayBuffer.isView(value)) continue;
    seen.add(value);
    for (const [key, child] of partsOf(value)) {
      const name = typeof key === 'string' ? key : '?';
      if (pattern.test(name)) found.push(path);
      queue.push({ value: child, path: `${path}.${name}` });
      if (typeof key === 'object') queue.push({ value: key, path });
    }
  }
  return found;
}

function partsOf(value: object): Iterable<[unknown, unknown]> {
  if (value instanceof Map) return value;
  if (value instanceof Set) return [...value].map((item, index) => [String(index), item]);
  return Object.entries(value);
}
