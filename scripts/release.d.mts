export function notesOf(changelog: string, version: string): string;
export function changelogOfRelease(changelog: string, version: string, date: string): string;
