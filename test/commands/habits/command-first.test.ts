import { expect, test } from 'vitest';
import { commandFirst, ownArgs } from '../../../src/commands/habits/command-first.ts';

test.each([
  ['get pods -n tn', 'get pods -n tn'],
  ['-n tn get pods', 'get -n tn pods'],
  ['--namespace=tn get pods', 'get --namespace=tn pods'],
  ['--root-dir /tmp/k -n tn exec web -- sh -c x', 'exec --root-dir /tmp/k -n tn web -- sh -c x'],
  ['--root-dir /tmp/k images list -o wide', 'images list --root-dir /tmp/k -o wide'],
  ['-A get pods', 'get -A pods'],
  ['--help', '--help'],
  ['-V', '-V'],
  ['--nope get pods', '--nope get pods'],
  ['', ''],
])('%s is read as %s', (line, meant) => {
  expect(commandFirst(line.split(' ')).join(' ')).toBe(meant);
});

test.each([
  ['logs pod web app -f', 'logs web app -f'],
  ['-n tn explain po web', 'explain -n tn web'],
  ['restart --root-dir /k pods web db', 'restart --root-dir /k web db'],
  ['logs pod -f', 'logs pod -f'],
  ['logs pod', 'logs pod'],
  ['logs web pod', 'logs web pod'],
  ['exec pod sh', 'exec pod sh'],
  ['get pod web', 'get pod web'],
  ['describe deploy web -n tn', 'describe deploy/web -n tn'],
  ['get statefulset.apps db', 'get statefulset.apps/db'],
  ['-n tn logs deployment web -f', 'logs -n tn deployment/web -f'],
  ['logs job main', 'logs job main'],
  ['get deploy', 'get deploy'],
  ['delete deploy web', 'delete deploy web'],
  ['images', 'images list'],
  ['images -q', 'images list -q'],
  ['--root-dir /k images', 'images list --root-dir /k'],
  ['images --help', 'images --help'],
  ['images rm x', 'images rm x'],
])('%s means %s', (line, meant) => {
  expect(ownArgs(line.split(' ')).join(' ')).toBe(meant);
});
