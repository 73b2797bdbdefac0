import type { IncomingMessage } from 'node:http';
import { goQuote } from '../../api/values/go-quote.ts';
import { Refusal } from './answers.ts';
import { goQuery } from './go-text.ts';
import { parseMediaType } from './media-type.ts';
import { readBodyStart } from './request-body.ts';

/** The kubelet reads 10 MB. A longer form is refused, because a part of a command must not run. */
const maxFormBytes = 64 * 1024;
const formType = 'application/x-www-form-urlencoded';
const multipartType = 'multipart/form-data';

interface Form {
  /** Those of a body first, then those of the query, then those of a multipart body. */
  values: URLSearchParams;
  /** Why a part was left out. */
  error: string | undefined;
}

/**
 * The values of a request: of its form, if it has one, and of its query. Rejects with a `Refusal` for a form that is
 * too long or does not come whole. The form of a request for an upgrade is not read, because Node hands its body to the
 * stream. kubelet: Go's net/http Request.ParseForm, or FormValue for `multipart`
 */
export async function requestForm(
  request: IncomingMessage,
  { multipart = false }: { multipart?: boolean } = {},
): Promise<Form> {
  const [, search = ''] = /\?([^#]*)/.exec(request.url ?? '') ?? [];
  const { 'content-type': contentType = '' } = request.headers;
  const mediaType = parseMediaType(contentType === '' ? 'application/octet-stream' : contentType);
  const isPost = request.method === 'POST';
  const body = isPost && mediaType.type === formType ? String(await formBody(request)) : '';
  const parts = isPost && multipart && mediaType.type === multipartType ? await partsOf(request, contentType) : [];
  const values = new URLSearchParams([...goQuery(body), ...goQuery(search), ...parts]);
  return { values, error: formProblem(body) ?? (isPost ? mediaType.problem : undefined) ?? formProblem(search) };
}

/** Names and texts of the parts that are no files. A broken body has none, as in Go. */
async function partsOf(request: IncomingMessage, contentType: string): Promise<[string, string][]> {
  const body = await formBody(request);
  const response = new Response(body, { headers: { 'content-type': contentType } });
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- meant for small bodies, and this one is bounded
  const form = await response.formData().catch(() => []);
  return [...form].flatMap(([name, value]): [string, string][] => (typeof value === 'string' ? [[name, value]] : []));
}

async function formBody(request: IncomingMessage): Promise<Buffer> {
  const { bytes, isWhole } = await readBodyStart(request, maxFormBytes);
  if (!isWhole) throw new Refusal(413, 'http: POST too large', { connection: 'close' });
  return bytes;
}

/** The last semicolon outweighs the first bad escape. kubelet: Go's net/url ParseQuery */
function formProblem(text: string): string | undefined {
  const parts = text.split('&');
  if (parts.some((part) => part.includes(';'))) return 'invalid semicolon separator in query';
  const escape = parts.flatMap((part) => sides(part).flatMap((side) => badEscape(side) ?? []))[0];
  return escape === undefined ? undefined : `invalid URL escape ${goQuote(escape)}`;
}

/** Name and value. */
function sides(part: string): string[] {
  const at = part.indexOf('=');
  return at === -1 ? [part] : [part.slice(0, at), part.slice(at + 1)];
}

const badEscape = (text: string): string | undefined => /%(?![0-9a-f]{2}).{0,2}/is.exec(text)?.[0];
