import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Faults } from '../../flow/faults.ts';
import { Refusal, send, sendError, sendPlain } from './answers.ts';
import { type Authentication, authenticate } from './authenticate.ts';
import type { User } from './user.ts';
import { type Authorization, forbiddenText, isAllowed, verbOf } from './authorize.ts';
import { goQuery } from './go-text.ts';
import { type EarlyAnswer, targetOf } from './request-target.ts';
import { findMount, findRoute, type Mount } from './route-table.ts';

/** Which clients a server accepts. */
export interface Access {
  authentication: Authentication;
  authorization: Authorization;
}

interface Deps {
  mounts: readonly Mount[];
  /** Called for each request, because files with clients change. Absent for a server without authentication. */
  access?: () => Access;
  faults: Pick<Faults, 'record'>;
}

/**
 * Handles requests: finds the path, checks the client, and runs the handler. Unknown paths and redirects are answered
 * before the check. kubelet: server/server.go ServeHTTP, InstallAuthFilter
 */
export function apiHandler({
  mounts,
  access,
  faults,
}: Deps): (request: IncomingMessage, response: ServerResponse) => void {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET' } = request;
    const target = targetOf(request);
    if ('status' in target) {
      sendEarly(response, target);
      return;
    }
    const { path, search } = target;
    const found = findMount(mounts, path, search);
    if (found.kind === 'missing') {
      sendError(response, 404, '404 page not found');
      return;
    }
    if (found.kind === 'redirect') {
      redirect(response, method, found.location);
      return;
    }
    const { mount, rest } = found;
    if (access !== undefined && !isLetIn(access(), mount, request, response)) return;
    const query = goQuery(search);
    if (mount.handle !== undefined) {
      await mount.handle({ request, response, params: {}, rest, query });
      return;
    }
    const route = findRoute(mount.routes ?? [], { method, rest, accept: request.headers.accept });
    if (route.kind === 'missing') sendPlain(response, 404, '404: Page Not Found');
    else if (route.kind === 'method') {
      const text = '405: Method Not Allowed';
      send(response, 405, { 'content-type': 'text/plain; charset=utf-8', allow: route.allow }, text);
    } else if (route.kind === 'accept') {
      sendPlain(response, 406, `406: Not Acceptable\n\nAvailable representations: ${route.available}`);
    } else await route.route.handle({ request, response, params: route.params, rest, query });
  };
  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) {
        response.destroy();
      } else if (error instanceof Refusal) {
        send(response, error.status, { 'content-type': 'text/plain; charset=utf-8', ...error.headers }, error.message);
      } else {
        sendPlain(response, 500, 'internal error, see the log of kubelet-ts');
      }
      if (!(error instanceof Refusal)) faults.record('api', error);
    });
  };
}

function isLetIn(
  { authentication, authorization }: Access,
  { subresources }: Mount,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const user: User | undefined = authenticate(request, authentication);
  if (user === undefined) {
    sendPlain(response, 401, 'Unauthorized');
    return false;
  }
  const verb = verbOf(request.method ?? 'GET');
  if (isAllowed(authorization, { user, verb, subresources })) return true;
  sendPlain(response, 403, forbiddenText(user, verb, subresources));
  return false;
}

function sendEarly(response: ServerResponse, { status, statusText, text }: EarlyAnswer): void {
  if (statusText !== undefined) response.statusMessage = statusText;
  send(
    response,
    status,
    {
      ...(status !== 200 && { connection: 'close' }),
      ...(text !== '' && { 'content-type': 'text/plain; charset=utf-8' }),
    },
    text,
  );
}

function redirect(response: ServerResponse, method: string, location: string): void {
  const isRead = method === 'GET' || method === 'HEAD';
  const escaped = location
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&#34;')
    .replaceAll("'", '&#39;');
  const body = method === 'GET' ? `<a href="${escaped}">Temporary Redirect</a>.\n\n` : '';
  send(response, 307, { location, ...(isRead && { 'content-type': 'text/html; charset=utf-8' }) }, body);
}
