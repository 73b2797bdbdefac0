/** A text of a manifest as a message may quote it: its first characters when it is long. */
export function excerpt(text: string, maxLength = 60): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
