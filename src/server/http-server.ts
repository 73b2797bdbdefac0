import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';

/** Answers of one server by path; only GET and the methods named are served. */
export type Routes = Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>>;

/** A server for exact paths, keyed `GET /path`. */
export function httpServer(routes: Routes): Server {
  const listener: RequestListener = (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const route = routes[`${request.method ?? 'GET'} ${path}`];
    if (route === undefined) sendText(response, 404, 'not found');
    else route(request, response);
  };
  return createServer(listener);
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });
  response.end(`${text}\n`);
}

/** Resolves when the server listens; rejects when it cannot. */
export function listening(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
