import { expect, test } from 'vitest';
import type { Container } from '../../../src/api/types.ts';
import { hasHostPortConflict } from '../../../src/engine/lifecycle/host-ports.ts';
import { insufficientResources } from '../../../src/engine/lifecycle/node-fit.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

/** A container that tells how often this part of it is read. */
function watched<Part extends 'resources' | 'ports'>(part: Part, value: Container[Part]): [Container, () => number] {
  let reads = 0;
  const container = makeContainer({});
  Object.defineProperty(container, part, {
    get: () => {
      reads += 1;
      return value;
    },
  });
  return [container, () => reads];
}

test('what a pod asks for is read once, however many are to run next to it', () => {
  const [container, reads] = watched('resources', { requests: { cpu: '1' } });
  const running = makePod({ metadata: { uid: 'running' }, spec: { containers: [container] } });
  const comes = makePod({ spec: { containers: [makeContainer({ resources: { requests: { cpu: '500m' } } })] } });
  const allocatable = { cpu: '1200m', pods: '110' };
  const missing = [{ resource: 'cpu', requested: 500n, used: 1000n, capacity: 1200n }];
  expect(insufficientResources(comes, [running], allocatable)).toEqual(missing);
  const readsOfOne = reads();
  for (let more = 0; more < 10; more++) {
    expect(insufficientResources({ ...comes }, [running], allocatable)).toEqual(missing);
  }
  expect(reads()).toBe(readsOfOne);
});

test('a pod without a host port does not ask for those of others', () => {
  const [container, reads] = watched('ports', [{ containerPort: 80, hostPort: 80 }]);
  const running = makePod({ spec: { containers: [container] } });
  const withPort = makePod({
    spec: { containers: [makeContainer({ ports: [{ containerPort: 8080, hostPort: 80 }] })] },
  });
  expect(hasHostPortConflict(makePod({ spec: { containers: [makeContainer({})] } }), [running])).toBe(false);
  expect(reads()).toBe(0);
  expect(hasHostPortConflict(withPort, [running])).toBe(true);
});
