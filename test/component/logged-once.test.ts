import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import type { Logger } from '../../src/logger.ts';
import { logEvents } from '../../src/node/log/log-events.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const volumes = [{ name: 'config', configMap: { name: 'missing' } }];
const main = { name: 'main', image: 'registry.example/app:1' };

interface Failure {
  pod?: Pod;
  /** Prepares the world so that the pod fails. */
  arrange?: (world: World) => void;
  /** The only warning of its first minute. Repetitions are left out. */
  line: string;
}

const failures: Record<string, Failure> = {
  'a volume that cannot be mounted': {
    pod: makeStaticPod('web', {
      spec: { containers: [{ ...main, volumeMounts: [{ name: 'config', mountPath: '/c' }] }], volumes },
    }),
    line: 'warn MountVolume.SetUp failed for volume "config" : configmap "missing" not found',
  },
  'a sandbox that cannot be made': {
    arrange: ({ runtime }) => {
      runtime.injectError('runPodSandbox', new Refusal(codes.unknown, 'no CNI plugin'), { times: 1000 });
    },
    line: 'warn Failed to create pod sandbox: no CNI plugin',
  },
  'a network that is not ready': {
    arrange: ({ runtime }) => {
      runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'no CNI config');
    },
    line: 'warn network is not ready: container runtime network not ready: NetworkPluginNotReady: no CNI config',
  },
  'a command that cannot be started': {
    arrange: ({ runtime }) => {
      runtime.injectError('startContainer', new Refusal(codes.unknown, 'no such file'), { times: 1000 });
    },
    line: 'warn Error: no such file',
  },
};

test.each(Object.entries(failures))('%s is in the log once each time', async (_what, { pod, arrange, line }) => {
  const world = await World.make();
  world.runtime.addImage(main.image);
  arrange?.(world);
  const warnings = new Set<string>();
  const logger = warningsTo(warnings);
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source], logger });
  logEvents(engine.kubelet, logger);
  source.set(pod ?? makeStaticPod('web', { spec: { containers: [main] } }));
  await world.until(() =>
    engine.events.events.some((event) => event.type === 'SyncFinished' && event.error !== undefined),
  );
  expect([...warnings]).toEqual([line]);
});

/** Keeps the texts of warnings and errors. */
function warningsTo(lines: Set<string>): Logger {
  const nothing = (): void => undefined;
  const keep =
    (level: string) =>
    (facts: unknown, message?: string): void => {
      lines.add(`${level} ${message ?? String(facts)}`);
    };
  const logger: Logger = {
    debug: nothing,
    info: nothing,
    warn: keep('warn'),
    error: keep('error'),
    child: () => logger,
  };
  return logger;
}
