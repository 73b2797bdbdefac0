import type { IncomingMessage } from 'node:http';
import { Refusal } from './answers.ts';
import { goQuery } from './go-text.ts';
import { readBodyStart } from './request-body.ts';

/** The kubelet reads 10 MB. A longer form is refused, because a truncated command must not run. */
const maxFormBytes = 64 * 1024;
const formType = 'application/x-www-form-urlencoded';
const multipartType = 'multipart/form-data';

interface Form {
  /** Those of a body first, then those of the query, then those of a multipart body. */
  values: URLSearchParams;
  /** True if a part was dropped, because it has a semicolon or a bad escape. */
  isBroken: boolean;
}

/**
 * The values of a request: of its form, if any, and of its query. Rejects with a `Refusal` for a form that is too long
 * or incomplete. Does not read the form of an upgrade request, because Node hands its body to the stream. kubelet: Go's
 * net/http Request.ParseForm, or FormValue for `multipart`
 */
export async function requestForm(
  request: IncomingMessage,
  { multipart = false }: { multipart?: boolean } = {},
): Promise<Form> {
  const [, search = ''] = /\?([^#]*)/.exec(request.url ?? '') ?? [];
  const { 'content-type': contentType = '' } = request.headers;
  const isPost = request.method === 'POST';
  const type = isPost ? contentType.replace(/;.*$/s, '').trim().toLowerCase() : '';
  const body = type === formType ? String(await formBody(request)) : '';
  const parts = multipart && type === multipartType ? await partsOf(request, contentType) : [];
  const values = new URLSearchParams([...goQuery(body), ...goQuery(search), ...parts]);
  return { values, isBroken: isBroken(body) || isBroken(search) };
}

/** Names and values of the parts that are not files. A broken body has none, as in Go. */
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

/** kubelet: Go's net/url ParseQuery */
const isBroken = (text: string): boolean => /;|%(?![0-9a-f]{2})/i.test(text);
