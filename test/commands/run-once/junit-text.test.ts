import { expect, test } from 'vitest';
import { junitText } from '../../../src/commands/run-once/junit-text.ts';
import type { PodResult } from '../../../src/node/run-once/pod-result.ts';
import { checkJunitSchema } from './check-junit-schema.ts';

const startedAtMs = Date.parse('2026-03-01T10:00:00Z');
const run = { startedAtMs, now: startedAtMs + 2500 };
const lasted = { startedAt: '2026-03-01T10:00:00Z', finishedAt: '2026-03-01T10:00:01Z' };

const podWith = (overrides: Partial<PodResult>): PodResult => ({
  pod: 'default/job-edge1',
  outcome: 'completed',
  exitCode: 0,
  message: '',
  containers: [],
  ...overrides,
});

test('each container is a test case, and a failure has its exit code, reason and last lines', () => {
  const failed = podWith({
    outcome: 'failed',
    exitCode: 3,
    message: 'container app exited with code 3',
    container: 'app',
    containers: [
      { name: 'init', state: 'ended', exitCode: 0, reason: 'Completed', ...lasted },
      { name: 'app', state: 'ended', exitCode: 3, reason: 'Error', ...lasted, log: 'a < b\n' },
    ],
  });
  const xml = junitText([failed], run);
  checkJunitSchema(xml);
  expect(xml).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="kubelet-ts run-once" tests="2" failures="1" errors="0" time="2.500">
  <testsuite name="default/job-edge1" tests="2" failures="1" errors="0" skipped="0" timestamp="2026-03-01T10:00:00" time="2.000">
    <testcase name="init" classname="default/job-edge1" time="1.000"/>
    <testcase name="app" classname="default/job-edge1" time="1.000">
      <failure message="container app exited with code 3" type="Error">a &lt; b
</failure>
      <system-out>a &lt; b
</system-out>
    </testcase>
  </testsuite>
</testsuites>
`);
});

test.each<[string, Partial<PodResult>, string[]]>([
  [
    'a pod that was not started is an error of its own',
    { outcome: 'not started', exitCode: 125, message: 'ErrImageNeverPull' },
    ['<testcase name="pod"', '<error message="ErrImageNeverPull" type="not started"'],
  ],
  [
    'a container that made the time run out is an error, others that wait are skipped',
    {
      outcome: 'timed out',
      exitCode: 124,
      message: 'not done after 2s: container app still runs',
      container: 'app',
      containers: [
        { name: 'app', state: 'running', startedAt: lasted.startedAt },
        { name: 'next', state: 'waiting', reason: 'PodInitializing' },
      ],
    },
    [
      'tests="2" failures="0" errors="1" skipped="1"',
      'message="not done after 2s: container app still runs"',
      '<skipped',
    ],
  ],
  [
    'a pod that went well has no failures, not even those of its sidecar',
    {
      containers: [
        { name: 'proxy', sidecar: true, state: 'ended', exitCode: 143 },
        { name: 'app', state: 'ended', exitCode: 0 },
      ],
    },
    ['tests="2" failures="0" errors="0"'],
  ],
  [
    'a sidecar that ended with its pod is no failure',
    {
      outcome: 'failed',
      exitCode: 3,
      container: 'app',
      containers: [
        { name: 'proxy', sidecar: true, state: 'ended', exitCode: 137 },
        { name: 'app', state: 'ended', exitCode: 3 },
      ],
    },
    ['tests="2" failures="1" errors="0"', 'container app exited with code 3'],
  ],
  [
    'a container may have the name true',
    { containers: [{ name: 'true', state: 'ended', exitCode: 0 }] },
    ['<testcase name="true" classname='],
  ],
  [
    'what XML cannot hold is replaced',
    { containers: [{ name: 'app', state: 'ended', exitCode: 0, log: 'bell \u0007 ]]> "&" \ud800\n', ...lasted }] },
    ['bell \ufffd ]]&gt; &quot;&amp;&quot; \ufffd'],
  ],
])('%s', (_title, overrides, parts) => {
  const xml = junitText([podWith(overrides)], run);
  checkJunitSchema(xml);
  for (const part of parts) expect(xml).toContain(part);
});
