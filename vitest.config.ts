import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** For tests that need no machine of their own. */
const shared = {
  // No module has state of its own, so the files of a worker share them: loading them costs more than most tests.
  isolate: false,
  maxWorkers: availableParallelism(),
  // For a test that hangs, not for one that is slow on a busy machine.
  testTimeout: 60_000,
  globalSetup: ['test/own-temporary-folder.ts'],
};

/** For tests of the program on a real containerd. A test waits several times, each for at most two minutes. */
const onContainerd = { globalSetup: ['test/e2e/global-setup.ts'], testTimeout: 300_000, hookTimeout: 300_000 };

/**
 * Tests that wait most of their time, on nodes of their own. Other tests look at the whole machine, measure it, use free
 * ports, or need a core for themselves.
 */
const waiting = [
  ...['admission', 'agent-restart', 'applied', 'bad-manifests', 'cgroups', 'claims', 'control-plane', 'csi'],
  ...['debug', 'describe', 'diff', 'down', 'eviction', 'exec', 'explain', 'facts/facts'],
  ...['hostile-containers', 'http-source', 'hung-network', 'image-gc', 'images', 'in-place', 'lifecycle'],
  ...['log-flood', 'log-rotation', 'logs', 'memory-pressure', 'mount-options', 'netns-mounts', 'node-shutdown'],
  ...['operations', 'owners', 'pause-image', 'probes', 'runtime-class', 'runtime-events', 'start-order', 'streams'],
  ...['nested', 'sub-path', 'upgrade', 'volumes', 'wait'],
].map((name) => `test/e2e/${name}.test.ts`);

export default defineConfig({
  test: {
    reporters: ['default', './test/summary-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
          exclude: ['test/e2e/**', 'test/component/**'],
          ...shared,
        },
      },
      { extends: true, test: { name: 'component', include: ['test/component/**/*.test.ts'], ...shared } },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: waiting,
          ...onContainerd,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e-waiting',
          include: waiting,
          ...onContainerd,
          maxWorkers: 2,
          // After the tests without a runtime, which use all cores.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
