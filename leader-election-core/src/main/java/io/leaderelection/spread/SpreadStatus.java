/*
 * Copyright 2026-present the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *      https://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package io.leaderelection.spread;

import org.jspecify.annotations.Nullable;

/**
 * How the elections of an application are spread over its nodes, as far as known to one
 * node.
 *
 * @param led how many elections this node leads
 * @param share how many elections a node leads at most when they are spread evenly
 * @param waiting why they are not spread evenly at present, or {@code null} if they are
 * or if none can move
 */
public record SpreadStatus(int led, int share, @Nullable String waiting) {

}
