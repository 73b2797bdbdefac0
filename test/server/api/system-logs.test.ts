import { existsSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { get } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ApiRig } from './api-rig.ts';

/** Lists the units kubelet and sshd. Prints its arguments for the first, and a problem for the second. */
const journal = `#!/bin/sh
case "$*" in
'--field _SYSTEMD_UNIT') printf 'kubelet.service\\nsshd.service\\n' ;;
*--unit=sshd*) echo 'a problem' >&2; exit 3 ;;
*) echo "asked $*" ;;
esac
`;

interface Machine {
  /** Content of files of the system logs. */
  files?: Readonly<Record<string, string>>;
  /** The script that is run as journalctl. Without it, there is none. */
  journalctl?: string;
}

interface Answer {
  status: number | undefined;
  type: string | undefined;
  body: string;
}

/** A node that answers queries of its system logs. */
class LogNode {
  private constructor(
    readonly folder: string,
    private readonly rig: ApiRig,
  ) {}

  static async open({ files = {}, journalctl }: Machine): Promise<LogNode> {
    const folder = await temporaryFolder();
    const programs = await temporaryFolder();
    for (const [name, content] of Object.entries(files)) {
      await mkdir(join(folder, name, '..'), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    if (journalctl !== undefined) {
      await writeFile(join(programs, 'journalctl'), journalctl);
      await chmod(join(programs, 'journalctl'), 0o755);
    }
    const { PATH = '' } = process.env;
    process.env['PATH'] = programs;
    onTestFinished(() => {
      process.env['PATH'] = PATH;
    });
    return new LogNode(folder, await ApiRig.open({ systemLogs: folder, options: { logQueries: true } }));
  }

  async message(query: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
    const client = await this.rig.authority.issue('carol');
    const { port } = this.rig;
    const path = `/logs/?${query}`;
    const asked = get({ host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, ...client });
    const [message] = (await once(asked, 'response')) as [IncomingMessage];
    return message;
  }

  async ask(query: string): Promise<Answer> {
    const message = await this.message(query);
    const { statusCode, headers } = message;
    return { status: statusCode, type: headers['content-type'], body: (await buffer(message)).toString() };
  }
}

const plain = (body: string): Answer => ({ status: 200, type: 'text/plain;charset=UTF-8', body });
const refused = (body: string): Answer => ({ status: 406, type: 'text/plain; charset=utf-8', body: `${body}\n` });

test('logs of a service that the journal does not know are files with its name', async () => {
  const node = await LogNode.open({
    files: {
      plain: 'whole name\n',
      'plain.log': 'not this\n',
      'dotted.log': 'dotted\n',
      'own/own.log': 'in a folder\n',
    },
    journalctl: journal,
  });
  expect({
    name: await node.ask('query=plain'),
    extension: await node.ask('query=dotted'),
    wholeName: await node.ask('query=dotted.log'),
    folder: await node.ask('query=own'),
    missing: await node.ask('query=none'),
    several: await node.ask('query=own&query=none&query=dotted'),
    options: await node.ask('query=own&query=none&tailLines=5'),
    parent: await node.ask('query=..'),
  }).toEqual({
    name: plain('whole name\n'),
    extension: plain('dotted\n'),
    wholeName: plain('dotted\n'),
    folder: plain('in a folder\n'),
    missing: plain('\nlog not found for none\n'),
    several: plain('in a folder\n\nlog not found for none\ndotted\n'),
    options: plain(
      '\noptions present and query resolved to log files for [own none]\ntry without specifying options\n',
    ),
    parent: plain('\nlog not found for ..\n'),
  });
});

test('logs of a service that the journal knows come from the journal, with its problems', async () => {
  const node = await LogNode.open({ files: { 'own.log': 'file\n' }, journalctl: journal });
  const asked = 'asked --utc --no-pager --output=short-precise';
  expect([
    await node.ask('query=kubelet'),
    await node.ask('query=sshd'),
    await node.ask('query=own&query=kubelet'),
    await node.ask('query=own&query=kubelet&tailLines=5'),
  ]).toEqual([
    plain(`${asked} --unit=kubelet\n`),
    plain('a problem\n'),
    plain(`${asked} --unit=kubelet\nfile\n`),
    plain(
      `${asked} --pager-end --lines=5 --unit=kubelet\n` +
        '\noptions present and query resolved to log files for [own]\ntry without specifying options\n',
    ),
  ]);
});

test('the journal is asked for a time in UTC, also for one in a zone that only Go knows', async () => {
  const node = await LogNode.open({ journalctl: journal });
  const asked = 'asked --utc --no-pager --output=short-precise';
  expect([
    await node.ask('query=kubelet&sinceTime=2024-01-02T03:04:05,9Z'),
    await node.ask('query=kubelet&sinceTime=2024-01-02T03:04:05%2B24:00&untilTime=2024-01-02T03:04:05-01:60'),
  ]).toEqual([
    plain(`${asked} --since=2024-01-02 03:04:05 --unit=kubelet\n`),
    plain(`${asked} --since=2024-01-01 03:04:05 --until=2024-01-02 05:04:05 --unit=kubelet\n`),
  ]);
});

test('a machine without a journal answers with files', async () => {
  const node = await LogNode.open({ files: { 'kubelet.log': 'file\n' } });
  expect([await node.ask('query=kubelet'), await node.ask('query=sshd')]).toEqual([
    plain('file\n'),
    plain('\nlog not found for sshd\n'),
  ]);
});

test('the journal is not read any more once the client is gone', async () => {
  const units = '[ $1 = --field ] && { echo kubelet.service; exit; }';
  const node = await LogNode.open({ journalctl: `#!/bin/sh\n${units}\necho $$\nexec /bin/sleep 600\n` });
  const message = await node.message('query=kubelet');
  const [pid] = (await once(message, 'data')) as [Buffer];
  message.destroy();
  while (existsSync(`/proc/${pid.toString().trim()}`)) await nextTurn();
});

test('no query leads out of the folder of the logs, nor to anything but a regular file', async () => {
  const node = await LogNode.open({ files: { 'inner.log': 'inner\n' } });
  await symlink('/etc/hostname', join(node.folder, 'out'));
  await symlink('inner.log', join(node.folder, 'in'));
  await execa('/usr/bin/mkfifo', [join(node.folder, 'pipe')]);
  expect([await node.ask('query=out'), await node.ask('query=in'), await node.ask('query=pipe')]).toEqual([
    plain('\nlog not found for out\n'),
    plain('inner\n'),
    plain('\nlog not found for pipe\n'),
  ]);
});

test('an answer is compressed for a client that accepts nothing but gzip', async () => {
  const node = await LogNode.open({ files: { plain: 'content\n' } });
  const zipped = await node.message('query=plain', { 'accept-encoding': 'gzip' });
  const other = await node.message('query=plain', { 'accept-encoding': 'gzip, br' });
  expect([zipped.headers['content-encoding'], other.headers['content-encoding']]).toEqual(['gzip', undefined]);
  expect([gunzipSync(await buffer(zipped)).toString(), (await buffer(other)).toString()]).toEqual([
    'content\n',
    'content\n',
  ]);
});

test('a query is refused in the words of the kubelet', async () => {
  const node = await LogNode.open({});
  const times = (since: string, until: string): Promise<Answer> =>
    node.ask(`query=kubelet&sinceTime=${encodeURIComponent(since)}&untilTime=${encodeURIComponent(until)}`);
  const late = (until: string): Answer => refused(`untilTime: Invalid value: ${until}: must be after \`sinceTime\``);
  expect([
    await node.ask('query=a&query=b&query=c&query=d&query=e'),
    await node.ask('query=a&query=b&query=c&query=d&query=$'),
    await times('2024-01-02T03:04:06Z', '2024-01-02T03:04:05Z'),
    await times('2024-01-02T03:04:06Z', '2024-01-02T03:04:05,25Z'),
    await times('2024-01-02T03:04:06Z', '2024-01-02T05:04:05.120+02:00'),
    await times('2024-01-02T03:04:06Z', '2024-01-02T00:04:05-02:60'),
    await times('2024-01-02T03:04:06Z', '2024-01-02T3:04:05.5Z'),
  ]).toEqual([
    refused('query: Too many: 5: must have at most 4 items'),
    refused(
      '[query: Invalid value: "$": input contains unsupported characters, query: Too many: 5: must have at most 4 items]',
    ),
    late('2024-01-02T03:04:05Z'),
    late('2024-01-02T03:04:05,25Z'),
    late('2024-01-02T05:04:05.120+02:00'),
    late('2024-01-02T00:04:05-02:60'),
    late('2024-01-02T3:04:05.5Z'),
  ]);
});

/** A folder with a file, and with links to it, to what is not there as seen by a root in it, and to themselves. */
async function linkedNode(): Promise<LogNode> {
  const node = await LogNode.open({ files: { 'plain.log': 'plain\n', 'sub/inner.log': 'inner\n', 'etc/in': 'in\n' } });
  const links = {
    'link-in': 'plain.log',
    'link-up': '../../../sub/inner.log',
    'link-out': '/etc/hostname',
    'link-file': '/plain.log/x',
    'sub/link-rooted': '/sub/../sub',
    loop: 'loop',
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(node.folder, name));
  return node;
}

test.each([
  ['/link-out', 'stat /var/log/etc/hostname: no such file or directory'],
  ['sub/link-rooted/none', 'stat /var/log/sub/none: no such file or directory'],
  ['/none/../../x', 'stat /var/log/x: no such file or directory'],
  ['\\plain.log', 'stat /var/log/\\plain.log: no such file or directory'],
  ['/plain.log/x', 'stat /var/log/plain.log/x: not a directory'],
  ['/link-file', 'stat /var/log/plain.log/x: not a directory'],
  ['/loop', 'SecureJoin /var/log///loop: too many levels of symbolic links'],
  ['sub/../loop/x', 'SecureJoin /var/log//sub/../loop/x: too many levels of symbolic links'],
  [`/sub/${'x'.repeat(300)}`, `lstat /var/log///sub/${'x'.repeat(300)}: file name too long`],
  ['/a\0b', 'lstat /var/log///a\0b: invalid argument'],
])('the file %j of a query is refused in the words of Go', async (file, reason) => {
  const node = await linkedNode();
  const shown = JSON.stringify(file).replace('\\u0000', '\\x00');
  expect(await node.ask(`query=${encodeURIComponent(file)}`)).toEqual(
    refused(`query: Invalid value: []string{${shown}}: ${reason}`),
  );
});

test('a file of a query is served as the file server of Go serves its path', async () => {
  const node = await linkedNode();
  const asked = async (file: string): Promise<unknown[]> => {
    const message = await node.message(`query=${file}`);
    return [message.statusCode, message.headers.location, (await buffer(message)).toString()];
  };
  expect([
    await asked('/plain.log'),
    await asked('//link-in'),
    await asked('sub/inner.log'),
    await asked('/../plain.log'),
    await asked('/plain.log/'),
    await asked('/sub'),
    // The query sees it in the folder, and the file server follows it out.
    await asked('/link-up'),
  ]).toEqual([
    [200, undefined, 'plain\n'],
    [200, undefined, 'plain\n'],
    [200, undefined, 'inner\n'],
    [200, undefined, 'plain\n'],
    [301, '../plain.log?query=/plain.log/', ''],
    [301, 'sub/?query=/sub', ''],
    [404, undefined, '404 page not found\n'],
  ]);
});
