import { Command } from 'commander';
import { expect, test } from 'vitest';
import {
  addStatusURLOptions,
  type StatusURLFlags,
  type StatusURLOptions,
  statusURLOptions,
} from '../../../src/node/options/status-url-options.ts';

function optionsOf(...args: string[]): StatusURLOptions {
  const command = addStatusURLOptions(new Command('run'));
  command.parse(args, { from: 'user' });
  return statusURLOptions(command.opts<StatusURLFlags>());
}

const url = 'https://home.example/status';

test('every flag has its place', () => {
  const options = optionsOf(
    ...['--status-url', url, '--status-url', 'https://home.example/copy'],
    ...['--status-url-header', 'X-Site: north', '--status-url-ca-file', '/ca.pem'],
    ...['--status-url-cert-file', '/cert.pem', '--status-url-key-file', '/key.pem'],
    ...['--status-url-token-file', '/token'],
  );
  expect(options).toEqual({
    statusURLs: [url, 'https://home.example/copy'],
    statusURLHeaders: [['X-Site', 'north']],
    statusURLFiles: { caFile: '/ca.pem', certFile: '/cert.pem', keyFile: '/key.pem', tokenFile: '/token' },
  });
});

test.each([
  [['--status-url', 'git+https://user:s3cret@home.example/r//p'], '--status-url must begin with https:// or http://'],
  [['--status-url', url, '--status-url', url], `two --status-url are ${url}`],
  [
    ['--status-url', url, '--status-url-cert-file', '/c'],
    '--status-url-cert-file and --status-url-key-file go together',
  ],
  [['--status-url', url, '--status-url-header', 's3cret'], '--status-url-header must be NAME:VALUE'],
  [
    ['--status-url', url, '--status-url', 'https://other.example', '--status-url-token-file', '/t'],
    'headers, token and client certificate are for one server, not for https://home.example and https://other.example',
  ],
])('%j is refused', (args, message) => {
  expect(() => optionsOf(...args)).toThrow(message);
});
