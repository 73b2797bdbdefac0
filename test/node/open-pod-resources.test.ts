import { expect, test } from 'vitest';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import type { PodResources } from '../../src/engine/container-manager/resource-managers/pod-resources.ts';
import { UserError } from '../../src/errors.ts';
import { openPodResources } from '../../src/node/open-pod-resources.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const defaults = {
  featureGates: defaultFeatureGates,
  cpuManagerPolicy: 'none',
  cpuManagerPolicyOptions: {},
  cpuManagerReconcilePeriod: 10_000,
  memoryManagerPolicy: 'None',
  reservedMemory: [],
  reservedSystemCPUs: '',
  topologyManagerPolicy: 'none',
  topologyManagerPolicyOptions: {},
  topologyManagerScope: 'container',
};

async function made(options: Partial<typeof defaults>): Promise<PodResources> {
  const make = await openPodResources(
    { ...defaults, ...options, rootDir: await temporaryFolder() },
    { nodeReservation: { memory: '100Mi' }, clock: new FakeClock(), logger: silentLogger },
  );
  return make({
    activePods: () => [],
    sourcesReady: () => true,
    podStatus: () => undefined,
    updateContainer: () => Promise.resolve(),
  });
}

test.each([
  [
    { cpuManagerPolicy: 'static' },
    'cpuManagerPolicy: [cpumanager] unable to determine reserved CPU resources for static policy',
    'The static policy needs cpu in systemReserved or kubeReserved, or reservedSystemCPUs.',
  ],
  [
    { memoryManagerPolicy: 'Static' },
    'memoryManagerPolicy: the total amount "0" of type "memory" is not equal to the value "100Mi" determined by ' +
      'Node Allocatable feature',
    'The memory in reservedMemory must be that of systemReserved, kubeReserved and evictionHard together.',
  ],
  [
    { topologyManagerPolicy: 'restricted', topologyManagerPolicyOptions: { near: 'true' } },
    'topologyManagerPolicy: unknown Topology Manager Policy option: "near"',
    'Correct topologyManagerPolicy, topologyManagerScope or topologyManagerPolicyOptions.',
  ],
])('settings %j are refused with the field and what to do', async (options, message, hint) => {
  const refusal = await made(options).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(UserError);
  expect(refusal).toMatchObject({ message, hint: expect.stringContaining(hint) as string });
});

test('other settings are taken on this machine', async () => {
  await expect(made({ topologyManagerPolicy: 'best-effort' })).resolves.toBeDefined();
});
