import { expect, test } from 'vitest';
import { explanationText } from '../../../src/commands/explain/explanation-text.ts';
import { NOW } from '../../builders/pods.ts';

test('an explanation has the cause, the next try, the line at fault, the evidence and the fixes out', () => {
  const text = explanationText(
    {
      namespace: 'default',
      name: 'web-edge1',
      stage: 'image',
      container: 'app',
      cause: 'its registry has no image ngnix:1',
      field: 'spec.containers[0].image',
      nextTryAt: NOW + 20_000,
      place: { file: '/m/web.yaml', line: 2, column: 11 },
      text: 'containers:\n- {image: ngnix:1}\n',
      evidence: [
        { from: 'event Failed', at: NOW - 5000, text: 'app: not found' },
        { from: 'log of app', text: 'one\ntwo' },
      ],
      fixes: ['Correct the name.'],
    },
    NOW,
  );
  expect(text.split('\n')).toEqual([
    'default/web-edge1: image',
    '  container app: its registry has no image ngnix:1',
    '  Next try: in 20s',
    '',
    '  /m/web.yaml:2:11: spec.containers[0].image',
    '    2 | - {image: ngnix:1}',
    '      |           ^~~~~',
    '',
    'Evidence:',
    '  event Failed (5s ago): app: not found',
    '  log of app:',
    '    one',
    '    two',
    '',
    'What to do:',
    '  - Correct the name.',
    '',
  ]);
});

test('warnings about the manifest are no evidence, and a pod that runs is well with them', () => {
  const text = explanationText(
    {
      namespace: 'default',
      name: 'web-edge1',
      stage: 'running',
      cause: 'it runs',
      evidence: [],
      fixes: [],
      warnings: [{ from: '/m/web.yaml:2:7', text: 'warning: kind: runs as one pod, not 3' }],
    },
    NOW,
  );
  expect(text.split('\n')).toEqual([
    'default/web-edge1: running',
    '  it runs',
    '',
    'Warnings about its manifest:',
    '  /m/web.yaml:2:7: warning: kind: runs as one pod, not 3',
    '',
  ]);
});
