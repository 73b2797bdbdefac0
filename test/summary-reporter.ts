import type { Reporter, TestModule } from 'vitest/node';

/** Closes a test run with one line that a machine can read: `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(testModules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const testModule of testModules) {
      if (testModule.errors().length > 0) count.failed += 1;
      for (const test of testModule.children.allTests()) count[test.result().state] += 1;
    }
    // A test that never ran to an end is as bad as one that failed.
    const failed = count.failed + count.pending;
    process.stdout.write(`\n${count.passed} passed, ${failed} failed, ${count.skipped} skipped\n`);
  }
}
