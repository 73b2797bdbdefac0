import { describe, expect, test } from 'vitest';
import type { Pod, RawPod } from '../../../src/api/types.ts';
import { defaultInPlacePolicy } from '../../../src/api/values/in-place.ts';
import { computePodChange, type PodChange } from '../../../src/engine/in-place/compute-pod-change.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

type Spec = Partial<NonNullable<RawPod['spec']>>;
type Container = NonNullable<Spec['containers']>[number];

const main = (more: Partial<Container> = {}): Container => ({ name: 'main', image: 'app:1', ...more });
const pod = (spec: Spec = {}, more: { annotations?: Record<string, string>; uid?: string } = {}): Pod =>
  makeStaticPod('web', { ...more, spec: { containers: [main()], ...spec } });
/** A pod with one container of these resources. */
const sized = (resources: NonNullable<Container['resources']>, more: Spec = {}): Pod =>
  pod({ containers: [main({ resources, resizePolicy })], ...more });
const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
const sidecar = (image: string): Container => ({ name: 'log', image, restartPolicy: 'Always' });

const inPlace = (resize: [string, boolean][], images: string[], isPodResized = false): PodChange => ({
  kind: 'inPlace',
  resize: resize.map(([name, restart]) => ({ name, restart })),
  isPodResized,
  images,
});
const replace = (because: string): PodChange => ({ kind: 'replace', because });
const optOut = { annotations: { 'kubelet-ts.io/in-place': 'false' } };

describe('a change from one revision to the next', () => {
  test.each<[string, Pod, Pod, PodChange]>([
    ['nothing but the UID', pod({}, { uid: 'a' }), pod({}, { uid: 'b' }), { kind: 'none' }],
    ['a default that is written out', pod(), pod({ restartPolicy: 'Always' }), { kind: 'none' }],
    [
      'another text of the same amount',
      sized({ requests: { cpu: '500m' } }),
      sized({ requests: { cpu: '0.5' } }),
      { kind: 'none' },
    ],
    ['an image', pod(), pod({ containers: [main({ image: 'app:2' })] }), inPlace([], ['main'])],
    ['an image that is always pulled', pod(), pod({ containers: [main({ image: 'app' })] }), inPlace([], ['main'])],
    [
      'an image, and a policy of its own',
      pod(),
      pod({ containers: [main({ image: 'app:2', imagePullPolicy: 'Never' })] }),
      replace('its manifest changed'),
    ],
    [
      'the image of a sidecar',
      pod({ initContainers: [sidecar('log:1')] }),
      pod({ initContainers: [sidecar('log:2')] }),
      inPlace([], ['log']),
    ],
    [
      'the image of an init container',
      pod({ initContainers: [main({ name: 'init' })] }),
      pod({ initContainers: [main({ name: 'init', image: 'app:2' })] }),
      replace('its manifest changed'),
    ],
    [
      'an image of a pod that may end',
      pod({ restartPolicy: 'OnFailure' }),
      pod({ restartPolicy: 'OnFailure', containers: [main({ image: 'app:2' })] }),
      replace('the restartPolicy of container main is not Always'),
    ],
    [
      'an image of a container that may end',
      pod({ containers: [main({ restartPolicy: 'Never' })] }),
      pod({ containers: [main({ restartPolicy: 'Never', image: 'app:2' })] }),
      replace('the restartPolicy of container main is not Always'),
    ],
    [
      'an image of a container that always restarts in a pod that does not',
      pod({ restartPolicy: 'Never', containers: [main({ restartPolicy: 'Always' })] }),
      pod({ restartPolicy: 'Never', containers: [main({ restartPolicy: 'Always', image: 'app:2' })] }),
      inPlace([], ['main']),
    ],
    [
      'cpu, which needs no restart',
      sized({ requests: { cpu: '1' } }),
      sized({ requests: { cpu: '2' } }),
      inPlace([['main', false]], []),
    ],
    [
      'cpu of a pod that may end',
      sized({ requests: { cpu: '1' } }, { restartPolicy: 'Never' }),
      sized({ requests: { cpu: '2' } }, { restartPolicy: 'Never' }),
      inPlace([['main', false]], []),
    ],
    [
      'memory, which needs a restart',
      sized({ requests: { cpu: '1' }, limits: { memory: '1Gi' } }),
      sized({ requests: { cpu: '1' }, limits: { memory: '2Gi' } }),
      inPlace([['main', true]], []),
    ],
    [
      'image and memory',
      sized({ limits: { memory: '1Gi' } }),
      pod({ containers: [main({ image: 'app:2', resizePolicy, resources: { limits: { memory: '2Gi' } } })] }),
      inPlace([['main', true]], ['main']),
    ],
    [
      'the first limit of a Burstable pod',
      sized({ requests: { cpu: '1' } }),
      sized({ requests: { cpu: '1' }, limits: { cpu: '2' } }),
      inPlace([['main', false]], []),
    ],
    [
      'a limit that is removed',
      sized({ requests: { cpu: '1' }, limits: { cpu: '2' } }),
      sized({ requests: { cpu: '1' } }),
      replace('a limit of container main is removed'),
    ],
    [
      'resources of the whole pod',
      pod({ resources: { requests: { cpu: '1' } } }),
      pod({ resources: { requests: { cpu: '2' } } }),
      inPlace([], [], true),
    ],
    [
      'a limit of the whole pod that is removed',
      pod({ resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } }),
      pod({ resources: { requests: { cpu: '1' } } }),
      replace('a limit of the pod is removed'),
    ],
    [
      'the first resources of the whole pod',
      sized({ requests: { cpu: '1' } }),
      sized({ requests: { cpu: '1' } }, { resources: { requests: { cpu: '2' } } }),
      replace('its manifest changed'),
    ],
    [
      'another QoS class',
      sized({ requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } }),
      sized({ requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } }),
      replace('its QoS class changes from Guaranteed to Burstable'),
    ],
    [
      'another resource',
      sized({ requests: { cpu: '1', 'ephemeral-storage': '1Gi' } }),
      sized({ requests: { cpu: '1', 'ephemeral-storage': '2Gi' } }),
      replace('its manifest changed'),
    ],
    [
      'a label',
      pod(),
      { ...pod(), metadata: { ...pod().metadata, labels: { a: 'b' } } },
      replace('its manifest changed'),
    ],
    ['another field', pod(), pod({ containers: [main({ args: ['x'] })] }), replace('its manifest changed')],
    ['another container', pod(), pod({ containers: [main(), main({ name: 'b' })] }), replace('its manifest changed')],
    [
      'an image of a pod that opts out',
      pod({}, optOut),
      pod({ containers: [main({ image: 'app:2' })] }, optOut),
      replace('its annotation disables changes in place'),
    ],
  ])('%s', (_what, current, desired, change) => {
    expect(computePodChange(current, desired, defaultInPlacePolicy)).toEqual(change);
    // One side may be from the disk.
    expect(computePodChange(JSON.parse(JSON.stringify(current)) as Pod, desired, defaultInPlacePolicy)).toEqual(change);
  });
});

describe('the policy of the node', () => {
  const guaranteed = (cpu: string): Pod => sized({ requests: { cpu, memory: '1Gi' }, limits: { cpu, memory: '1Gi' } });
  const burstable = (cpu: string): Pod => sized({ requests: { cpu } });

  test('may be to replace pods', () => {
    const policy = { isEnabled: false, isPinning: false };
    expect(computePodChange(burstable('1'), burstable('2'), policy)).toEqual(
      replace('the agent runs with --in-place=false'),
    );
    expect(computePodChange(burstable('1'), burstable('1000m'), policy)).toEqual({ kind: 'none' });
  });

  test('may be to give processors to Guaranteed pods, which a resize would not change', () => {
    const policy = { isEnabled: true, isPinning: true };
    expect(computePodChange(guaranteed('1'), guaranteed('2'), policy)).toEqual(
      replace('a resource manager assigns processors or memory to it'),
    );
    expect(computePodChange(burstable('1'), burstable('2'), policy)).toEqual(inPlace([['main', false]], []));
  });
});
