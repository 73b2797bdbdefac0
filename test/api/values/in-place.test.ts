import { expect, test } from 'vitest';
import { mayChangeInPlace, validateInPlace } from '../../../src/api/values/in-place.ts';
import { makePod } from '../../builders/pods.ts';

const annotated = (text: string | undefined) =>
  makePod({ metadata: { annotations: text === undefined ? {} : { 'kubelet-ts.io/in-place': text } } });

test.each([
  [undefined, true],
  ['true', true],
  ['false', false],
])('the annotation %s', (text, expected) => {
  expect([mayChangeInPlace(annotated(text)), validateInPlace(annotated(text))]).toEqual([expected, []]);
});

test.each(['', 'no', 'False', ' false'])('%j is refused', (text) => {
  expect(validateInPlace(annotated(text))).toEqual([
    {
      field: 'metadata.annotations[kubelet-ts.io/in-place]',
      type: 'Invalid value',
      message: `${JSON.stringify(text)}: must be "true" or "false"`,
      hint: 'Write "false" to have changes replace the pod.',
    },
  ]);
});
