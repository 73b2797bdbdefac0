import type { Reporter, TestModule } from 'vitest/node';

/** Prints a machine-readable line at the end of a test run: `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(testModules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const testModule of testModules) {
      if (testModule.errors().length > 0) count.failed += 1;
      for (const test of testModule.children.allTests()) count[test.result().state] += 1;
    }
    // A test that did not finish counts as failed.
    const failed = count.failed + count.pending;
    process.stdout.write(`\n${count.passed} passed, ${failed} failed, ${count.skipped} skipped\n`);
  }
}
