import { expect, test } from 'vitest';
import type { PodStatus } from '../../../src/api/types.ts';
import type { Service } from '../../../src/api/values/service.ts';
import { readAllocations, writeAllocations } from '../../../src/engine/services/service-records.ts';
import { Services } from '../../../src/engine/services/services.ts';
import { headless, makeService } from '../../builders/services.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const pod = makeStaticPod('web', { uid: 'u-web', labels: { app: 'web' } });

interface Earlier {
  rootDir: string;
  declared?: Service[];
  areSourcesSeen?: () => boolean;
  openSubnets?: () => Promise<string[]>;
}

/** Services of a node with one pod, whose address is the last one that `setIP` got. */
async function makeServices(
  forward: (ips: string[], clock: FakeClock) => Promise<void>,
  {
    rootDir,
    declared = [makeService('web'), headless('db')],
    areSourcesSeen = () => true,
    openSubnets = () => Promise.resolve(['10.223.0.0/22']),
  }: Earlier,
) {
  const clock = new FakeClock();
  let status: PodStatus | undefined;
  const services = new Services({
    declared: { services: () => [...declared], serviceAddresses: () => [] },
    network: {
      openSubnets,
      forward: ({ ports }) =>
        forward(
          ports.flatMap(({ endpoints }) => endpoints.map(({ ip }) => ip)),
          clock,
        ),
      problems: () => [],
    },
    areSourcesSeen,
    pods: () => [pod],
    isTerminating: () => false,
    runningPods: () => [],
    statusOf: () => status,
    podDir: () => rootDir,
    nodeIPs: () => [],
    clusterDomain: '',
    rootDir,
    emit: () => undefined,
    clock,
    faults: silentFaults(),
    logger: silentLogger,
  });
  const setIP = (ip: string): void => {
    status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], podIPs: [{ ip }] };
    services.update();
  };
  await services.load();
  // From here on, no update waits for a file.
  await services.writeHostsFile(pod, '');
  return { services, clock, setIP };
}

test('while a pod changes 50 times a second, updates take half of the time, and the last state wins', async () => {
  const forwarded: string[] = [];
  const { clock, setIP } = await makeServices(
    async (ips, time) => {
      await time.sleep(100);
      forwarded.push(ips.join());
    },
    { rootDir: await temporaryFolder() },
  );
  for (let change = 1; change <= 100; change++) {
    setIP(`10.222.0.${change}`);
    await clock.advance(20);
  }
  expect(forwarded.length).toBeLessThanOrEqual(10);
  await clock.advance(1000);
  expect(forwarded.at(-1)).toBe('10.222.0.100');
});

test('a change that fails is a problem until the next one succeeds, also if it went back before', async () => {
  let error: Error | undefined;
  const forwarded: string[] = [];
  const { services, clock, setIP } = await makeServices(
    (ips) => {
      if (error !== undefined) return Promise.reject(error);
      forwarded.push(ips.join());
      return Promise.resolve();
    },
    { rootDir: await temporaryFolder() },
  );
  const settle = (): Promise<void> => clock.advance(0);
  setIP('10.222.0.1');
  await settle();
  error = new Error('no space');
  setIP('10.222.0.2');
  await settle();
  const about = { kind: 'Service', namespace: 'default', name: 'web', stage: 'rules', since: clock.now() };
  const message = 'is forwarded as before its last change, until its rules can be updated: no space';
  expect(services.snapshot()).toEqual([{ ...about, message, hint: 'Check this machine: kubelet-ts doctor' }]);
  error = undefined;
  setIP('10.222.0.1');
  await settle();
  expect([forwarded, services.snapshot()]).toEqual([['10.222.0.1', '10.222.0.1'], []]);
});

/** A node whose last agent gave 10.223.0.9 to the Service web. */
async function recordedNode() {
  const rootDir = await temporaryFolder();
  await writeAllocations(rootDir, new Map([['default/web', { clusterIPs: ['10.223.0.9'], nodePorts: {} }]]));
  const record = async (): Promise<unknown> => Object.fromEntries((await readAllocations(rootDir)) ?? []);
  return { rootDir, record };
}

const recorded = { clusterIPs: ['10.223.0.9'], nodePorts: {} };

test.each([
  ['keeps it if that source still declares it', true, { 'default/web': recorded }],
  ['loses it if that source does not declare it any more', false, { 'default/api': recorded }],
])('a Service whose address another one wants before its source is read %s', async (_, isDeclared, allocations) => {
  const { rootDir, record } = await recordedNode();
  const declared = [makeService('api', { clusterIPs: ['10.223.0.9'] })];
  let isSeen = false;
  const { services } = await makeServices(() => Promise.resolve(), { rootDir, declared, areSourcesSeen: () => isSeen });
  expect(await record()).toEqual({ 'default/web': recorded });
  if (isDeclared) declared.push(makeService('web'));
  isSeen = true;
  await services.writeHostsFile(pod, '');
  expect(await record()).toEqual(allocations);
});

test('a Service keeps its address while the node cannot forward, and is forwarded once it can', async () => {
  const { rootDir, record } = await recordedNode();
  let error: Error | undefined = new Error('iptables is not installed');
  const openSubnets = (): Promise<string[]> =>
    error === undefined ? Promise.resolve(['10.223.0.0/22']) : Promise.reject(error);
  const forwarded: string[] = [];
  const { clock, services, setIP } = await makeServices(
    (ips) => {
      forwarded.push(ips.join());
      return Promise.resolve();
    },
    { rootDir, openSubnets },
  );
  setIP('10.222.0.1');
  await clock.advance(0);
  expect([await record(), forwarded]).toEqual([{ 'default/web': recorded }, ['']]);
  error = undefined;
  // Then the update waits for no file.
  await services.writeHostsFile(pod, '');
  services.update();
  await clock.advance(0);
  expect([await record(), forwarded]).toEqual([{ 'default/web': recorded }, ['', '10.222.0.1']]);
});
