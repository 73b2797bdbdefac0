import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { podToStop } from '../../../src/engine/kuberuntime/pod-to-stop.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

const graceKey = 'io.kubernetes.pod.terminationGracePeriod';
const hookKey = 'io.kubernetes.container.preStopHandler';
const portsKey = 'io.kubernetes.container.ports';
const httpGet = { path: '/flush', port: 'admin', scheme: 'HTTP' };
const ports = [{ name: 'admin', containerPort: 8080, protocol: 'TCP' }];

const withContainer = (container: object, spec = {}): Pod['spec'] => ({
  containers: [{ name: 'main', ...container }],
  ...spec,
});

test.each<[string, Record<string, string>, Pod['spec']]>([
  ['nothing', {}, withContainer({})],
  ['a grace period', { [graceKey]: '60' }, withContainer({}, { terminationGracePeriodSeconds: 60 })],
  [
    'a hook that names a port',
    { [hookKey]: JSON.stringify({ httpGet }), [portsKey]: JSON.stringify(ports) },
    withContainer({ lifecycle: { preStop: { httpGet } }, ports }),
  ],
  [
    'a hook without ports',
    { [hookKey]: '{"sleep":{"seconds":5}}' },
    withContainer({ lifecycle: { preStop: { sleep: { seconds: 5 } } }, ports: [] }),
  ],
  ['a hook that is no JSON', { [hookKey]: '{' }, withContainer({})],
])('a pod whose containers carry %s', async (_, annotations, spec) => {
  const runtime = new FakeRuntime();
  runtime.addImage('app:1');
  await startRuntimePod(runtime, 'web', annotations);
  const pods = new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message) });
  const status = await pods.getPodStatus('web');
  expect(podToStop(status, undefined)).toEqual({ metadata: { uid: 'web', name: 'web', namespace: 'default' }, spec });
  const revision: Pod = { metadata: { uid: 'web', name: 'web', namespace: 'default' }, spec: { containers: [] } };
  expect(podToStop(status, revision)).toBe(revision);
});
