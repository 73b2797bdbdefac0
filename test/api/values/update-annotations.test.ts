import { expect, test } from 'vitest';
import { isWindowOpen, nextOpening, validateUpdateAnnotations } from '../../../src/api/values/update-annotations.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

const at = (day: number, hour: number, minute = 0) => ({ day, minute: hour * 60 + minute });

test.each([
  ['02:00-04:00', at(3, 2), true],
  ['02:00-04:00', at(3, 4), false],
  ['Sat 02:00-04:00', at(6, 3, 59), true],
  ['Sat 02:00-04:00', at(0, 3), false],
  ['Sat,Sun 02:00-04:00', at(0, 3), true],
  ['Sat 22:00-02:00', at(6, 23), true],
  ['Sat 22:00-02:00', at(0, 1, 59), true],
  ['Sat 22:00-02:00', at(6, 1), false],
  ['Sun 22:00-24:00', at(0, 23, 59), true],
])('the window %s at %o is open: %s', (text, time, isOpen) => {
  expect(isWindowOpen(text, time)).toBe(isOpen);
});

// 2026-11-25 is a Wednesday.
test.each([
  ['02:00-04:00', new Date(2026, 10, 25, 1, 59), new Date(2026, 10, 25, 2)],
  ['02:00-04:00', new Date(2026, 10, 25, 4), new Date(2026, 10, 26, 2)],
  ['Sat,Sun 02:30-04:00', new Date(2026, 10, 25, 4), new Date(2026, 10, 28, 2, 30)],
  ['Wed 02:00-04:00', new Date(2026, 10, 25, 5), new Date(2026, 11, 2, 2)],
  ['never', new Date(2026, 10, 25, 5), undefined],
])('the window %s opens after %o at %o', (text, now, opening) => {
  expect(nextOpening(text, now)).toEqual(opening);
});

test.each([
  ['progress-deadline', '2m', []],
  ['progress-deadline', 'soon', ['"soon": must be a duration of at least 1s']],
  ['update-window', 'Sat 02:00-04:00', []],
  [
    'update-window',
    'Saturday 02:00-04:00',
    ['"Saturday 02:00-04:00": must be a time of the day, with or without days'],
  ],
  ['update-window', '02:00-02:00', ['"02:00-02:00": must be a time of the day, with or without days']],
  ['update-window', '02:60-03:00', ['"02:60-03:00": must be a time of the day, with or without days']],
  ['update-lock', '/run/lock', []],
  ['update-lock', 'lock', ['"lock": must be an absolute path']],
])('annotation %s: %s', (name, text, messages) => {
  const pod = makeStaticPod('web', { annotations: { [`kubelet-ts.io/${name}`]: text } });
  expect(validateUpdateAnnotations(pod).map(({ message }) => message)).toEqual(messages);
});
