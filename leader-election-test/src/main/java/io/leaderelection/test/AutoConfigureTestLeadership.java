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

package io.leaderelection.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Annotation for a test class with an application context. No election takes place on a
 * database: the test grants and revokes leadership with the bean {@link TestLeadership}.
 * Before each test method, this node is reset to the leader or to a follower, according
 * to {@link #leader()}. Sets {@code leader-election.mode=always} in a property source
 * that takes precedence over all others, and adds the auto-configuration of leader
 * election to a context without it, such as that of a test slice. May be used as a
 * meta-annotation. Nested test classes inherit it.
 *
 * @since 0.1.0
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface AutoConfigureTestLeadership {

	/**
	 * Whether this node leads all elections at the beginning of each test method.
	 * @return whether it leads
	 */
	boolean leader() default false;

}
