import { beforeEach, expect, test } from 'vitest';
import type { PodStatus } from '../../../src/api/types.ts';
import type { KubeletEvent, ManifestProblem } from '../../../src/engine/view/events.ts';
import { Redactor } from '../../../src/engine/redaction/redactor.ts';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';

let redactor: Redactor;
beforeEach(() => {
  const secrets = new SecretValues();
  secrets.set('s', ['correct-horse']);
  redactor = new Redactor({ secrets });
});

const pod = { namespace: 'default', name: 'web-edge1', uid: 'u1' };
const said = `exec: "correct-horse" ${'x'.repeat(20_000)}`;
const problem: ManifestProblem = { origin: 'a.yaml', severity: 'error', message: said, hint: said, field: said };
const bounded = (maxBytes: number): string =>
  `exec: "<hidden>" ${'x'.repeat(maxBytes - 17)} … ${20_000 - (maxBytes - 17)} bytes left out`;

test.each<[KubeletEvent, Partial<Record<string, unknown>>]>([
  [{ at: 1, type: 'Recorded', eventType: 'Warning', reason: 'Failed', message: said, pod }, { message: bounded(1024) }],
  [{ at: 1, type: 'SyncFinished', pod, durationMs: 1, nextSyncAt: 2, error: said }, { error: bounded(1024) }],
  [{ at: 1, type: 'RuntimeNotReady', message: said }, { message: bounded(1024) }],
  [
    {
      at: 1,
      type: 'ContainerDied',
      pod,
      id: 'c',
      end: { restartCount: 0, exitCode: 1, reason: said, message: said, startedAt: 1, finishedAt: 2 },
    },
    {
      end: { restartCount: 0, exitCode: 1, reason: bounded(1024), message: bounded(4096), startedAt: 1, finishedAt: 2 },
    },
  ],
  [
    { at: 1, type: 'SourceRead', source: 'http', where: 'https://box/', pods: 0, problems: [problem] },
    { problems: [{ ...problem, message: bounded(4096), hint: bounded(1024), field: bounded(1024) }] },
  ],
])('texts of an event $type are bounded and tell no Secret', (event, changed) => {
  expect(redactor.event(event)).toEqual({ ...event, ...changed });
});

test('messages of a status are, wherever they are', () => {
  const status: PodStatus = {
    phase: 'Failed',
    message: said,
    conditions: [{ type: 'Ready', status: 'False', message: 'with correct-horse' }],
    containerStatuses: [
      {
        name: 'correct-horse',
        image: 'a',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { waiting: { reason: 'RunContainerError', message: said } },
      },
    ],
  };
  expect(redactor.status(status)).toEqual({
    phase: 'Failed',
    message: bounded(12_288),
    conditions: [{ type: 'Ready', status: 'False', message: 'with <hidden>' }],
    containerStatuses: [
      {
        name: 'correct-horse',
        image: 'a',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { waiting: { reason: 'RunContainerError', message: bounded(12_288) } },
      },
    ],
  });
  const clean: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  expect(redactor.status(clean)).toBe(clean);
});

test('the origin of a problem is bounded, because it may have a path of any server', () => {
  const origin = 'a'.repeat(20_000);
  const shown = redactor.problems([
    { origin, severity: 'error', message: 'bad' },
    { origin, severity: 'error', message: '', notShown: 5 },
  ]);
  const short = `${'a'.repeat(4096)} … ${20_000 - 4096} bytes left out`;
  expect(shown.map((shownProblem) => shownProblem.origin)).toEqual([short, short]);
});

test('problems stay the same ones, and are 200 at most', () => {
  const bad = Array.from({ length: 300 }, (_, line) => ({ ...problem, line, message: 'bad' }));
  // The source has left out some itself.
  const problems = [...bad, { ...problem, message: '50 more problems are not shown', notShown: 50 }];
  const shown = redactor.problems(problems);
  expect(shown.length).toBe(201);
  expect(shown.at(-1)).toEqual({
    origin: 'a.yaml',
    severity: 'error',
    message: '150 more problems are not shown',
    notShown: 150,
  });
  expect(redactor.problems([...problems])[7]).toBe(shown[7]);
});
