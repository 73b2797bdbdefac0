import { execa } from 'execa';
import { spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { WebServer } from './web-server.ts';

/** Serves one git repository over git's HTTP protocol, using the machine's git. */
export class GitServer {
  readonly web: WebServer;
  readonly #folder: string;

  private constructor(web: WebServer, folder: string) {
    this.web = web;
    this.#folder = folder;
    web.answer = (request, response) => void answer(folder, request, response);
  }

  static async start(): Promise<GitServer> {
    const server = new GitServer(await WebServer.start(), await temporaryFolder());
    await server.git('init', '--quiet', '--initial-branch=main', '.');
    return server;
  }

  url(rest = ''): URL {
    return new URL(`git+${this.web.origin}/.git${rest}`);
  }

  /** Commits files with this content. `-> TARGET` creates a link. Returns the commit's id. */
  async commit(files: Record<string, string>, message = 'c'): Promise<string> {
    for (const [path, text] of Object.entries(files)) {
      const file = join(this.#folder, path);
      await mkdir(dirname(file), { recursive: true });
      if (text.startsWith('-> ')) await symlink(text.slice(3), file);
      else await writeFile(file, text);
    }
    await this.git('add', '--all');
    const commit = ['-c', 'user.name=t', '-c', 'user.email=t@box.example', 'commit', '--quiet', '--cleanup=verbatim'];
    await execa('git', [...commit, '--file=-'], { cwd: this.#folder, input: message });
    return this.git('rev-parse', 'HEAD');
  }

  async git(...args: string[]): Promise<string> {
    return (await execa('git', args, { cwd: this.#folder })).stdout;
  }
}

async function answer(folder: string, ...[request, response]: Parameters<RequestListener>): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '', 'http://host');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  const output = await buffer(child.stdout);
  const end = output.indexOf('\r\n\r\n');
  const headers = output
    .toString('latin1', 0, end)
    .split('\r\n')
    .map((line) => line.split(': ', 2) as [string, string]);
  const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
  response.writeHead(Number.parseInt(status, 10), Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
  response.end(output.subarray(end + 4));
}
