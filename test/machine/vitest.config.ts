import { defineConfig } from 'vitest/config';

const hourMs = 3_600_000;

/** By hand: no part of `npm test`, because QEMU without KVM takes half an hour. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/machine/*.scenarios.ts'],
    // One machine at a time.
    fileParallelism: false,
    reporters: ['verbose', './test/support/summary-reporter.ts'],
    testTimeout: hourMs,
    hookTimeout: hourMs,
  },
});
